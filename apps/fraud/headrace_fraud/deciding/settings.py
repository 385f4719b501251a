"""The rules' numbers, validated before anything starts: from a TOML file, from flags, or as they are here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from headrace import HeadraceError


class Rules(BaseModel):
    """What a customer must not do.

    velocity_seconds  two transactions at most so far apart break `velocity`
    memory_minutes    a transaction is remembered until one so much newer has come: for `velocity`, and to know duplicates
    distance_km       a transaction more than so far from the customer's phone breaks `location`
    location_hours    a phone's place older than so much, seen from the transaction, is not known any more
    ahead_hours       a record whose time is more than so far ahead of the clock is refused
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    velocity_seconds: float = Field(default=10, ge=0, le=86_400)
    memory_minutes: float = Field(default=10, gt=0, le=10_080)
    distance_km: float = Field(default=100, ge=0, le=20_038)
    location_hours: float = Field(default=24, gt=0, le=8_760)
    ahead_hours: float = Field(default=24, gt=0, le=8_760)

    @model_validator(mode="after")
    def _velocity_needs_memory(self) -> Rules:
        if self.velocity_seconds > self.memory_minutes * 60:
            raise ValueError("velocity_seconds is longer than memory_minutes, and what is forgotten cannot be compared")
        return self


def load(file: Path | None = None, pairs: Iterable[str] = ()) -> Rules:
    """The rules of a file, with `name=value` pairs over them."""
    numbers: dict[str, object] = {}
    try:
        if file is not None:
            numbers = tomllib.loads(file.read_text())
        numbers |= dict(_pair(pair) for pair in pairs)
        return Rules.model_validate(numbers)
    except OSError as error:
        raise HeadraceError(f"the settings in {file} cannot be read: {error.strerror}", fix="give the path of a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise HeadraceError(f"{file} is no TOML: {error}", fix="write it as: velocity_seconds = 10") from None
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "the rules"
        known = ", ".join(Rules.model_fields)
        raise HeadraceError(f"{name}: {first['msg'].removeprefix('Value error, ')}", fix=f"the settings are {known}") from None


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise HeadraceError(f"--rule {text} sets nothing", fix=f"--rule {text}=number")
    return name.strip(), value.strip()
