"""What comes in: card transactions and the places of phones, and which of them are refused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from annotated_types import Ge, Gt, Le
from pyspark.sql import Column
from pyspark.sql import functions as F

import headrace as hr
from headrace_fraud.deciding.settings import Rules

Latitude = Annotated[float, Ge(-90), Le(90)]
Longitude = Annotated[float, Ge(-180), Le(180)]

PLACE = ("topic", "partition", "offset", "timestamp")


@dataclass
class Transaction:
    tx_id: str
    customer: str
    card: str | None
    amount: Annotated[float, Gt(0)]
    merchant: str
    lat: Latitude
    lon: Longitude
    ts: datetime


@dataclass
class Location:
    customer: str
    lat: Latitude
    lon: Longitude
    ts: datetime


def read(lines: hr.Stream, rules: Rules) -> tuple[hr.Stream, hr.Stream]:
    """The valid records of both kinds, each with its place, and the dead letters.

    The clock is the log's own: the time at which a record was written to it. So a record that is read again is judged as before.
    The card is masked here, before anything else sees it.
    """
    ahead = F.unix_micros("ts") - F.unix_micros("timestamp") > round(rules.ahead_hours * 3_600_000_000)
    kinds = {"transaction": Transaction, "location": Location}
    decoded = lines.decode(schema=kinds, tag="type", refuse={"future_timestamp": ahead}, keep=PLACE)
    return decoded.with_columns(card=masked(F.col("card"))), decoded.dead_letters.with_columns(raw=without_cards(F.col("raw")))


def masked(card: Column) -> Column:
    """The first six and the last four digits, and `*` for every other character; with fewer than 13 digits, `*` for all.

    4111111111111111  ->  411111******1111
    """
    digits = F.length(F.regexp_replace(card, "[^0-9]", ""))
    parts = r"(?s)^((?:[^0-9]*[0-9]){6})(.*)((?:[0-9][^0-9]*){4})$"
    head, middle, tail = (F.regexp_extract(card, parts, group) for group in (1, 2, 3))
    shown = F.concat(_digits(head), F.repeat(F.lit("*"), F.length(middle)), _digits(tail))
    # Nearly all cards are digits and nothing else, for which no pattern is needed.
    usual = F.concat(F.left(card, F.lit(6)), F.repeat(F.lit("*"), F.length(card) - 10), F.right(card, F.lit(4)))
    plain = (F.translate(card, "0123456789", "") == "") & (F.length(card) >= 13)
    return F.when(plain, usual).when(digits >= 13, shown).otherwise(F.repeat(F.lit("*"), F.length(card)))


def _digits(text: Column) -> Column:
    return F.regexp_replace(text, "[^0-9]", "*")


def without_cards(raw: Column) -> Column:
    """Bytes in which whatever may be a card number (13 digits or more, also with spaces or dashes between) is stars."""
    # Latin-1 gives every byte a character and back, so nothing but those digits changes, whatever the bytes are.
    text = F.regexp_replace(F.decode(raw, "ISO-8859-1"), "(?<![0-9])[0-9](?:[ -]?[0-9]){12,}", "*" * 16)
    return F.encode(text, "ISO-8859-1")
