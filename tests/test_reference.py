"""The site of the documentation builds without a warning, has every public name, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import griffe
import pytest
from docs.tooling import doc_comments, pages
from mkdocstrings import Inventory

ROOT = Path(__file__).parents[1]
PACKAGE = griffe.load("headrace", search_paths=[ROOT / "src"])

# What the public names give a user to call: their public members are public, too.
CLASSES = (
    "fronts.joining.Joining", "fronts.ranking.Ranked",
    "fronts.stream.Stream", "fronts.keyed.Keyed", "fronts.windowed.Windowed", "fronts.to.To", "job.Job", "run.running.Running",
    "run.reports.progress.Progress", "run.reports.snapshots.Snapshot", "run.reports.messages.Notice",
    "kernel.scan.Timer", "ops.features.feature.Feature",
    "io.receiver.Receiver",
    "fronts.dstreams.context.StreamingContext", "fronts.dstreams.streams.dstream.DStream",
    "fronts.dstreams.streams.dstream.MapWithStateDStream",
    "fronts.dstreams.streams.transforms.Transforms", "fronts.dstreams.streams.windows.Windows", "fronts.dstreams.streams.states.States",
    "fronts.dstreams.streams.outputs.Outputs", "fronts.dstreams.streams.states.StateSpec", "fronts.dstreams.sources.receivers.Receiver",
    "fronts.dstreams.sources.kafka.KafkaUtils", "fronts.dstreams.batches.listeners.StreamingListener",
    "fronts.dstreams.batches.clocks.ManualClock",
    "fronts.storm.spark.submit.RunningTopology", "fronts.storm.local.LocalCluster", "fronts.storm.topologies.streamlets.Builder",
    "fronts.storm.tasks.state.KeyValueState",
)  # fmt: skip

# Modules whose names are those of another system: each has a page, though not every method of theirs needs a word.
FRONTS = ("fronts.storm", "heron", "fronts.trident")


def public_objects() -> list[griffe.Object | griffe.Alias]:
    exported = [PACKAGE[str(name)] for name in PACKAGE.exports or [] if not PACKAGE[name].is_module]  # of a module, its members
    classes = [PACKAGE[path] for path in CLASSES]
    members = [member for each in (PACKAGE["fronts.read"], *classes) for member in own(each)]
    kit = [PACKAGE["testing"][name] for name in PACKAGE["testing"].exports or []]
    errors = [found for found in own(PACKAGE["errors"]) if found.is_class]
    fronts = [target(PACKAGE[front][str(name)]) for front in FRONTS for name in PACKAGE[front].exports or []]
    return [*exported, *classes, *members, *kit, *errors, *(each for each in fronts if not each.is_attribute)]


def target(found: griffe.Object | griffe.Alias) -> griffe.Object | griffe.Alias:
    """What a name that is imported from elsewhere stands for."""
    return found.final_target if found.is_alias else found


def own(home: griffe.Object | griffe.Alias) -> list[griffe.Object | griffe.Alias]:
    """Its public members, without what it imports and without fields, which its own doc comment explains."""
    found = [member for member in home.members.values() if not member.is_alias and member.is_public and not member.name.startswith("_")]
    return [member for member in found if not member.is_attribute or "property" in member.labels]


PUBLIC = sorted({found.canonical_path: found for found in public_objects()}.items())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` does it: a warning is an error."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(place)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, env={"NO_MKDOCS_2_WARNING": "1"})
    assert (done.returncode, done.stderr) == (0, "")
    return place


@pytest.mark.parametrize(("path", "found"), PUBLIC, ids=[path for path, _ in PUBLIC])
def test_a_public_name_has_a_doc_comment(path: str, found: griffe.Object | griffe.Alias) -> None:
    assert found.docstring is not None, f"{path} has none"
    assert found.docstring.value.strip()


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    with (site / "objects.inv").open("rb") as inventory:
        documented = set(Inventory.parse_sphinx(inventory, domain_filter=("py",)))
    assert {path for path, _ in PUBLIC} <= documented


@pytest.mark.parametrize(
    ("directives", "left"),
    [
        ("", ["headrace.job.Job", "headrace.job.other"]),
        ("::: headrace.job\n", []),
        ("::: headrace.job\n    options:\n      members: [Job]\n", ["headrace.job.other"]),
        ("::: headrace.job.other\n    options:\n      heading_level: 3\n", ["headrace.job.Job"]),
        ("::: headrace.jo\n", ["headrace.job.Job", "headrace.job.other"]),
    ],
)
def test_a_public_name_that_no_page_has_is_found(directives: str, left: list[str]) -> None:
    assert pages.undocumented(["headrace.job.Job", "headrace.job.other"], f"# Page\n\n{directives}") == left


def test_a_public_module_is_documented_by_its_members() -> None:
    assert pages.undocumented(["headrace.errors"], "::: headrace.errors\n    options:\n      members: [JobError]\n") == []


@pytest.mark.parametrize(
    ("comment", "markdown"),
    [
        ("A sentence  with two blanks,\nand another.", "A sentence  with two blanks,\nand another."),
        ("start    where\nservers  at\n         home", "| | |\n|---|---|\n| `start` | where |\n| `servers` | at home |"),
        ("a, b  both\n      x  one\n      y  two", "| | |\n|---|---|\n| `a`, `b` | both<br>x one<br>y two |"),
        ("Text.\n\n    >>> 1\n    1\n\nMore.", "Text.\n\n```pycon\n>>> 1\n1\n```\n\nMore."),
        ("    code  of  four\n    blanks", "    code  of  four\n    blanks"),
    ],
)
def test_a_doc_comment_is_shown_as_markdown(comment: str, markdown: str) -> None:
    assert doc_comments.markdown(comment) == markdown


LOADED = re.compile(r"""(?:<(?:script|img|iframe)[^>]+src=|<link[^>]+href=|url\()["']?(?:https?:)?//""")


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert not [file.relative_to(site) for file in files if LOADED.search(file.read_text())]


def test_the_pages_of_the_repository_are_those_of_the_site(site: Path) -> None:
    for page in ("index", "architecture", "contributing", "changelog", "benchmarks", "guide/jobs", "reference/modes", "decisions/0001-*"):
        assert list(site.glob(f"{page}.html")), page


def test_a_link_to_a_source_file_leads_to_its_text(site: Path) -> None:
    assert 'href="source/src/headrace/kernel/scan.py.html"' in (site / "architecture.html").read_text()
    assert "The one stateful operator" in (site / "source/src/headrace/kernel/scan.py.html").read_text()


STATEFUL = (
    "fronts.joining.Joining.join", "fronts.joining.Joining.as_of", "fronts.joining.Joining.cogroup", "fronts.stream.Stream.window",
    "fronts.keyed.Keyed.match", "fronts.keyed.Keyed.with_features", "fronts.ranking.Ranked.top", "fronts.ranking.Ranked.changes",
    "fronts.ranking.Ranked.distinct", "fronts.ranking.Ranked.rate_limit",
)  # fmt: skip


@pytest.mark.parametrize("name", STATEFUL)
def test_an_operator_with_state_says_what_it_keeps_and_in_which_modes_it_is(name: str) -> None:
    comment = PACKAGE[name].docstring.value
    assert "State:" in comment
    assert re.search(r"mode|real time|batch", comment)
