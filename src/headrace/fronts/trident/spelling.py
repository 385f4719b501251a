"""Trident's names are camelCase, as in Java: code and lectures have them so. Python's own spelling works as well.

What a program *calls* has both names written down. What a program *defines* (`isKeep`, `multiGet`) goes by this class: a method defined in
one spelling is there in the other, too.
"""

from __future__ import annotations

import re
from typing import Any


class Spelled:
    """The base of every interface that a program fills in.

    >>> class Filter(Spelled):
    ...     def isKeep(self, tuple): ...
    >>> class Even(Filter):
    ...     def is_keep(self, tuple):
    ...         return tuple[0] % 2 == 0
    >>> Even().isKeep((4,))
    True
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, method in list(vars(cls).items()):
            if name.startswith("_") or not callable(getattr(method, "__func__", method)):
                continue
            for other in {_camel(name), _snake(name)} - set(vars(cls)):
                setattr(cls, other, method)


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match.group(1).upper(), name)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: f"_{match.group(1).lower()}", name)
