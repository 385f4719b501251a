"""A hook of MkDocs: the pages that are not in `docs/`, and links that work in the repository and on the site alike.

- README.md, ARCHITECTURE.md and their like are pages of the site, too.
- Pages link files as the repository has them. Here such a link leads to the page that was made of the file. A file of the source gets a
  page with its text. A folder has none, and its link becomes plain text.
- The navigation of a folder is the order in which its README links its pages.
- Public names that no page of the reference has are put at the end of its first page.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import griffe
import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
TOP = {"README.md": "index.md", **{name: name.lower() for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")}}
REFERENCE = "reference"
DIRECTIVE = re.compile(r"^::: (\S+)\n((?:    .*\n)*)", re.MULTILINE)
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^]]*\]\([^)]*\))*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = [{title: _section(place) for title, place in entry.items()} for entry in config.nav or []]
    return config


def _section(place: str) -> str | list[str]:
    """The pages of a folder, its README first."""
    if not place.endswith("/"):
        return place
    readme = (ROOT / "docs" / place / "README.md").read_text()
    return [f"{place}README.md", *dict.fromkeys(f"{place}{page}" for page in re.findall(r"\]\(([\w-]+\.md)\)", readme))]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, uri in TOP.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / name)))
    for source in sorted(_sources(files)):
        files.append(_source_page(config, source))
    return files


def _sources(files: Files) -> Iterator[Path]:
    """The files of the repository that pages link to and that are no pages."""
    pages = {Path(file.abs_src_path or "") for file in files}
    for file in files.documentation_pages():
        for _, _, target, _ in LINK.findall(file.content_string):
            linked = _linked(file, target)
            if linked.is_file() and linked not in pages:
                pages.add(linked)
                yield linked


def _source_page(config: MkDocsConfig, source: Path) -> File:
    path = source.relative_to(ROOT).as_posix()
    text = f"---\nsearch: {{exclude: true}}\n---\n# {path}\n\n~~~~ {{.{source.suffix[1:]} linenums=1}}\n{source.read_text()}\n~~~~\n"
    made = File.generated(config, f"source/{path}.md", content=text)
    made.source_of = source  # type: ignore[attr-defined]
    return made


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - MkDocs gives them by name
    if page.file.src_uri.startswith("source/"):
        return markdown
    uris = {Path(getattr(file, "source_of", None) or file.abs_src_path or ""): file.src_uri for file in files}

    def rewritten(link: re.Match[str]) -> str:
        image, text, target, anchor = link.groups()
        linked, text = _linked(page.file, target), LINK.sub(rewritten, text)
        if linked.is_dir():
            return text
        uri = uris.get(linked)
        return f"{image}[{text}]({_relative(uri, page.file.src_uri) if uri else target}{anchor or ''})"

    return LINK.sub(rewritten, markdown + _not_yet_documented(page))


def _linked(file: File, target: str) -> Path:
    return Path(os.path.normpath(Path(file.abs_src_path or ROOT).parent / target))


def _relative(uri: str, start: str) -> str:
    return Path(os.path.relpath(uri, Path(start).parent)).as_posix()


def _not_yet_documented(page: Page) -> str:
    """The public names that no page of the reference has, for its first page: a new name is never missing, only not yet in its place."""
    if page.file.src_uri != f"{REFERENCE}/README.md":
        return ""
    package = griffe.load("headrace", search_paths=[ROOT / "src"])
    exported = [package[str(name)].canonical_path for name in package.exports or []]
    paths = undocumented(exported, "".join(file.read_text() for file in (ROOT / "docs" / REFERENCE).glob("*.md")))
    return "".join(f"\n\n::: {path}\n    options:\n      show_root_heading: true\n      show_root_toc_entry: true\n" for path in paths)


def undocumented(paths: Iterable[str], markdown: str) -> list[str]:
    """Those of the objects that no directive documents: by itself, by a member that is named, or among all members of a module."""
    documented = set()
    for path, block in DIRECTIVE.findall(markdown):
        members = (yaml.safe_load(block) or {}).get("options", {}).get("members")
        if members is None:
            documented |= {path, f"{path}.*"}
        elif members is False:  # the object alone
            documented.add(path)
        else:
            documented |= {f"{path}.{member}" for member in members}
    in_part = {directive.rpartition(".")[0] for directive in documented}
    return [path for path in paths if path not in in_part and not {path, f"{path.rpartition('.')[0]}.*"} & documented]
