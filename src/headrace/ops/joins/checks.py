"""What joins ask of their arguments, and how they refuse what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from pyspark.sql import DataFrame

from headrace.errors import DefinitionError, user_line


def how(operator: str, choice: str, known: Sequence[str], what: str) -> None:
    """DefinitionError if this way to join is not one of those that are known for `what`."""
    if choice not in known:
        raise refused(operator, f"how={choice!r} is not known for {what}", f"use one of {', '.join(known)}")


def keys(operator: str, df: DataFrame, other: DataFrame, key_names: Sequence[str]) -> None:
    """DefinitionError if there are none, or one of the two does not have them."""
    if not key_names:
        raise refused(operator, "there is no key", 'name one or more columns that both have: on="customer"')
    for side, frame in {"here": df, "there": other}.items():
        for key in key_names:
            if key not in frame.columns:
                near = get_close_matches(key, frame.columns, n=1)
                hint = f"did you mean {near[0]!r}? " if near else ""
                raise refused(operator, f"there is no column {key!r} {side}", f"{hint}The columns {side} are {', '.join(frame.columns)}")


def names(operator: str, df: DataFrame, other: DataFrame, column_names: Sequence[str]) -> None:
    """DefinitionError if both have a column of the same name that is no key, or one does not have a key."""
    keys(operator, df, other, column_names)
    own = {name.lower() for name in df.columns if name not in column_names}
    for name in other.columns:
        if name not in column_names and name.lower() in own:
            raise refused(
                operator,
                f"both have a column {name!r}",
                f'rename it on one side, .rename({name}="…"), or drop it there; or is it one of the keys?',
            )


def refused(operator: str, what: str, fix: str) -> DefinitionError:
    return DefinitionError(f"{operator}: {what}", fix=fix, where=user_line())
