"""Where Spark is installed, found without starting it."""

from __future__ import annotations

from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from headrace.errors import SetupError

SUPPORTED = "4.3."


def jars() -> Path:
    """The directory of Spark's own jars: those of $SPARK_HOME if that is set, else PySpark's."""
    return Path(_find_spark_home()) / "jars"


def version() -> str:
    """Spark's version, such as `4.3.0`, told by the jars that will run (a SPARK_HOME may disagree with the installed PySpark)."""
    core = sorted(jars().glob("spark-core_2.13-*.jar"))
    if not core:
        raise SetupError(f"no Spark in {jars().parent}", fix="unset SPARK_HOME, or install PySpark again: `pip install pyspark==4.3.0`")
    version = core[0].stem.removeprefix("spark-core_2.13-")
    if not version.startswith(SUPPORTED):
        raise SetupError(
            f"{jars().parent} is Spark {version}; headrace needs Spark {SUPPORTED}x",
            fix="unset SPARK_HOME, or `pip install pyspark==4.3.0`",
        )
    return version
