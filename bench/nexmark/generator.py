"""The events of Nexmark, each a function of its number alone: the same for ever, in any split and any order.

A number is taken apart as Nexmark does it: of fifty events in a row one is a person, three are auctions and 46 are bids. Where Nexmark
throws dice, a hash of the event's number is taken; Apache Beam's version, which seeds its dice with that number, behaves alike.
Everything is a Spark column, so a range of numbers becomes events inside Spark, on all cores, without a file or a topic.

The rules, and the numbers to hold them against, are in docs/nexmark.md.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

PERSON, AUCTION, BID = 0, 1, 2
PERSONS, AUCTIONS, EPOCH = 1, 3, 50  # of fifty events in a row the first is a person, the next three are auctions, the rest are bids

FIRST_ID = 1000  # of persons and of auctions
ACTIVE_PERSONS, PERSONS_AHEAD = 1000, 10  # who may sell and bid: so many of the last persons, and so many that are still to come
OPEN_AUCTIONS, AUCTIONS_AHEAD = 100, 10
HOT = 100  # every hundredth person or auction is a hot one, until the next
CATEGORIES = 5

DELAY = "4 seconds"  # how late an event may be: Nexmark's watermark


@dataclass(frozen=True)
class Pace:
    """Event number `e` happens `e / per_second` seconds after `start`."""

    per_second: int = 10_000
    start: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    def millis(self, number: Column) -> Column:
        """The time of an event, in milliseconds since 1970."""
        return int(self.start.timestamp() * 1000) + _whole(number * 1000, self.per_second)


def events(numbers: DataFrame, pace: Pace | None = None, *, number: str = "id") -> DataFrame:
    """The events with these numbers: type, time, and the columns of each type, which are null in events of another.

    They are columns and not structs, because Spark leaves out a column that nobody asks for, but makes a struct as a whole.
    """
    return _Event(F.col(number), pace or Pace()).of(numbers)


class _Event:
    """The columns of an event, made of its number."""

    def __init__(self, number: Column, pace: Pace) -> None:
        self.number, self.pace = number, pace
        epoch, self.place = _whole(number, EPOCH), number % EPOCH
        self.person = epoch  # the newest person so far, counted from zero
        newest = F.when(self.place == 0, -1).when(self.place <= AUCTIONS, self.place - 1).otherwise(AUCTIONS - 1)
        self.auction = epoch * AUCTIONS + newest
        self.type = F.when(self.place == 0, PERSON).when(self.place <= AUCTIONS, AUCTION).otherwise(BID)
        self.millis = pace.millis(number)
        self.time = F.timestamp_millis(self.millis)

    def of(self, numbers: DataFrame) -> DataFrame:
        kinds = {PERSON: ("person", self._person()), AUCTION: ("auction", self._auction()), BID: ("bid", self._bid())}
        columns = (
            F.when(self.type == kind, value).alias(f"{name}_{field}")
            for kind, (name, fields) in kinds.items()
            for field, value in fields.items()
        )
        return numbers.select(self.type.alias("event_type"), self.time.alias("dateTime"), *columns)

    def _person(self) -> dict[str, Column]:
        name = F.concat(self._one_of("first name", _FIRST_NAMES), F.lit(" "), self._one_of("last name", _LAST_NAMES))
        address = F.concat(self._text("mailbox", 3, 7), F.lit("@"), self._text("host", 3, 5), F.lit(".com"))
        card = F.concat_ws(" ", *(F.lpad(self._below(f"card {i}", 10_000).cast("string"), 4, "0") for i in range(4)))
        city, state = self._one_of("city", _CITIES), self._one_of("state", _STATES)
        size = 8 + sum((F.length(text) for text in (name, address, card, city, state)), F.lit(0))
        return {
            "id": self.person + FIRST_ID, "name": name, "emailAddress": address, "creditCard": card, "city": city, "state": state,
            "extra": self._extra(200, size),
        }  # fmt: skip

    def _auction(self) -> dict[str, Column]:
        name, description, initial = self._text("item", 3, 20), self._text("description", 3, 100), self._price("initial bid")
        later = self.pace.millis(self.number + OPEN_AUCTIONS * EPOCH // AUCTIONS)
        length = 1 + self._below("length", F.greatest((later - self.millis) * 2, F.lit(1)))
        return {
            "id": self.auction + FIRST_ID, "itemName": name, "description": description, "initialBid": initial,
            "reserve": initial + self._price("reserve"), "expires": F.timestamp_millis(self.millis + length),
            "seller": self._someone("seller", 0), "category": 10 + self._below("category", CATEGORIES),
            "extra": self._extra(500, 56 + F.length(name) + F.length(description)),
        }  # fmt: skip

    def _bid(self) -> dict[str, Column]:
        oldest = F.greatest(self.auction - OPEN_AUCTIONS, F.lit(0))
        other = oldest + self._below("auction", self.auction - oldest + 1 + AUCTIONS_AHEAD)
        auction = F.when(self._below("hot auction", 2) > 0, _hot(self.auction)).otherwise(other)
        number = self._below("channel", 10_000)
        known = self._below("known channel", 2) > 0
        where = self._below("which channel", len(_CHANNELS))
        return {
            "auction": auction + FIRST_ID, "bidder": self._someone("bidder", 1), "price": self._price("price"),
            "channel": F.when(known, F.get(_texts(_CHANNELS), where)).otherwise(F.concat(F.lit("channel-"), number.cast("string"))),
            "url": F.when(known, F.get(_texts([_url(i, "") for i in range(len(_CHANNELS))]), where)).otherwise(_url_of(number)),
            "extra": self._extra(100, F.lit(32)),
        }  # fmt: skip

    def _someone(self, dice: str, hot: int) -> Column:
        """The id of a person: three in four times the hot one, else one of the active ones."""
        active = F.least(self.person + 1, F.lit(ACTIVE_PERSONS))
        other = self.person + 1 - active + self._below(dice, active + PERSONS_AHEAD)
        return F.when(self._below(f"hot {dice}", 4) > 0, _hot(self.person) + hot).otherwise(other) + FIRST_ID

    def _price(self, dice: str) -> Column:
        """From 100 to 100 million, uniform in the logarithm."""
        chance = F.shiftrightunsigned(self._dice(dice), 11) * F.lit(2.0**-53)
        return F.round(F.pow(F.lit(10.0), chance * 6) * 100).cast("bigint")

    def _extra(self, wanted: int, size: Column) -> Column:
        """Letters that make an event of this size about as long as is wanted, give or take a fifth."""
        missing = F.greatest(F.lit(wanted) - size, F.lit(0))
        give = F.round(missing * 0.2).cast("bigint")
        length = missing - give + self._below("extra length", F.greatest(give * 2, F.lit(1)))
        pieces = (self._one_of(f"extra {i}", _PIECES) for i in range(-(-wanted * 6 // 5 // _PIECE)))
        return F.substring(F.concat(*pieces), F.lit(1), length.cast("int"))

    def _text(self, dice: str, shortest: int, most: int) -> Column:
        letters = [self._one_of(f"{dice} {i}", _PIECES) for i in range(-(-most // _PIECE))]
        return F.substring(F.concat(*letters), F.lit(1), (shortest + self._below(f"{dice} length", most - shortest)).cast("int"))

    def _one_of(self, dice: str, texts: list[str]) -> Column:
        return F.get(_texts(texts), self._below(dice, len(texts)))

    def _below(self, dice: str, limit: Column | int) -> Column:
        """A whole number from zero on and below the limit."""
        return F.pmod(self._dice(dice), F.lit(limit) if isinstance(limit, int) else limit)

    def _dice(self, name: str) -> Column:
        """64 random bits of this event; by another name, others."""
        return F.xxhash64(self.number, F.lit(int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big")))


def _whole(number: Column, divisor: int) -> Column:
    return F.call_function("div", number, F.lit(divisor))


def _hot(newest: Column) -> Column:
    return newest - newest % HOT


def _texts(texts: list[str]) -> Column:
    """Spark makes a constant of it when it plans."""
    return F.split(F.lit("\n".join(texts)), "\n")


def _letters(number: int, length: int) -> str:
    """A word that is always the same."""
    blocks = (hashlib.sha256(f"{number}.{i}".encode()).digest() for i in range(length // 32 + 1))
    return "".join(chr(ord("a") + byte % 26) for block in blocks for byte in block)[:length]


_PIECE = 64  # long texts are put together of pieces: to make each letter by itself would be most of the work
_PIECES = [_letters(i, _PIECE) for i in range(256)]

_CHANNELS = ["Google", "Facebook", "Baidu", "Apple"]
_STATES = ["AZ", "CA", "ID", "OR", "WA", "WY"]
_CITIES = [
    "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne",
]  # fmt: skip
_FIRST_NAMES = ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"]
_LAST_NAMES = ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"]


def _url(number: int, rest: str) -> str:
    return f"https://www.nexmark.com/{_letters(number, 5)}/{_letters(number + 4, 5)}/{_letters(number + 8, 5)}/item.htm?query=1{rest}"


_PATHS = [_url(100 + i, "") for i in range(1000)]


_REVERSED = [int(f"{i:07b}"[::-1], 2) for i in range(128)]  # seven bits


def _url_of(channel: Column) -> Column:
    """That of a channel without a name; nine in ten say which channel it is, by the number with its 32 bits in reverse."""

    def reversed_bits(of: Column) -> Column:
        return F.get(F.split(F.lit(" ".join(map(str, _REVERSED))), " ").cast("array<bigint>"), of)

    reverse = (reversed_bits(channel % 128) * 128 + reversed_bits(F.shiftright(channel, 7))) * 2**18  # the number has 14 bits
    id = F.least(reverse, 2**32 - reverse)  # as Java has it, where numbers of 32 bits have a sign, and this is without
    path = F.get(_texts(_PATHS), channel % len(_PATHS))
    has_id = F.pmod(F.xxhash64(channel), F.lit(10)) > 0
    return F.when(has_id, F.concat(path, F.lit("&channel_id="), id.cast("string"))).otherwise(path)
