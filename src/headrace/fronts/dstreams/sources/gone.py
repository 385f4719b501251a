"""Sources of Spark Streaming that nothing can read any more: who calls them is told what to do instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import UnknownNameError, user_line

if TYPE_CHECKING:
    from headrace.fronts.dstreams.streams.dstream import DStream


class TwitterUtils:
    """Of Spark 1: tweets, by an API of Twitter's that is gone."""

    @staticmethod
    def createStream(*_: Any, **__: Any) -> DStream:
        """Refused."""
        raise UnknownNameError(
            "TwitterUtils.createStream read an API of Twitter's that is gone",
            fix="write a Receiver for what you have instead: ssc.receiverStream(Tweets())", where=user_line(),
        )  # fmt: skip
