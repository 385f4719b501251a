"""Joins by equal keys: of records with the rows of a table, and of two streams. A null key equals nothing.

| module      | what meets                                                                                     |
|-------------|------------------------------------------------------------------------------------------------|
| `static`    | a record and the rows of a table that a job reads                                              |
| `intervals` | records of two streams that are no further apart in time than a bound                          |
| `as_of`     | a record, and the nearest of another stream before it, behind it, or both ways                 |
| `windowed`  | records of two streams that are in the same window                                             |
| `tables`    | a record, or a row, and the row of a table that another stream changes                         |
| `foreign`   | rows of two such tables, where one names the other                                             |
| `rules`     | a record, and all rows of a small such table                                                   |

| how     | rows                                                                                    |
|---------|-----------------------------------------------------------------------------------------|
| `inner` | each pair                                                                               |
| `left`  | these, and the records without a partner, with nulls                                    |
| `right` | the pairs, and the other's records without a partner; not with a static table           |
| `full`  | the pairs, and the records of both without a partner; not with a static table           |
| `semi`  | the records that have a partner, each once, without its columns                         |
| `anti`  | the records that have none                                                              |

A join of streams has its main rows, and two ports with records as they came: `late`, and `late_other` for those of the other stream.
"""
