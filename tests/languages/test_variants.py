"""Small manifests of every shape, odd and broken ones among them: what is read, and what each edit changes.

`python -m tests.languages.test_variants` writes golden/variants-*.txt anew: read what changed, for users see it.
"""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.languages.formats import format_of
from groundup.manifests.records import Dependency, DependencyKind, DependencySource
from groundup.manifests.sections import ManifestFormat
from tests.languages.test_golden import GOLDEN, changed, line

VARIANTS: dict[str, list[str]] = json.loads(Path(__file__).with_name("variants.json").read_text(encoding="utf-8"))
ADDED: tuple[dict[str, object], ...] = (
    {},
    {"constraint": "1.5"},
    {"constraint": "2.0", "extras": ("one", "two"), "marker": "python_version < '3.9'"},
    {"source": DependencySource.GIT, "origin": "https://example.org/new.git"},
    {"alias": "other"},
    {"kind": DependencyKind.OVERRIDE, "group": "pnpm.overrides"},
    {"kind": DependencyKind.CONSTRAINT, "group": "workspaces.catalogs.new"},
    {"kind": DependencyKind.PEER, "details": (("optional", "true"),)},
)


def told(path: str, text: str) -> Iterator[str]:
    """Yield the lines that tell of one manifest."""
    known = format_of(path)
    assert known is not None
    data = text.encode()
    try:
        manifest = known.read(data, path)
    except UsageError as error:
        yield f"refused: {error}"
        return
    every = manifest.dependencies
    yield from map(line, every)
    for note in manifest.notes:
        yield f"{note.topic}:{note.line} {note.kind} {note.group or '-'} {note.target or '-'} {note.message}"
    yield from changed("masked", data, lambda: known.mask(data, path))
    yield from changed("masked tests", data, lambda: known.mask(data, path, {DependencyKind.TEST}))
    for at, one in enumerate(every):
        others = [*every[:at], *every[at + 1 :]]
        yield from changed(f"without {one.name}", data, partial(known.write, data, others, path))
    yield from changed("without all", data, lambda: known.write(data, (), path))
    for kind in DependencyKind:
        yield from _with_one_more(known, data, path, every, {"kind": kind})
        if kind in (DependencyKind.OPTIONAL, DependencyKind.GROUP):
            yield from _with_one_more(known, data, path, every, {"kind": kind, "group": "extra"})
    for fields in ADDED:
        yield from _with_one_more(known, data, path, every, fields)


def _with_one_more(
    known: ManifestFormat, data: bytes, path: str, every: Sequence[Dependency], fields: dict[str, object]
) -> Iterator[str]:
    new = Dependency.model_validate({"language": known.language, "name": "new", "normalised": "new"} | fields)
    named = " ".join(f"{value}" for value in fields.values()) or "new"
    yield from changed(f"with {named}", data, lambda: known.write(data, [*every, new], path))


def all_told(path: str) -> str:
    """Return what is told of all variants of a format."""
    texts = (f"##### {text!r}\n" + "".join(f"{one}\n" for one in told(path, text)) for text in VARIANTS[path])
    return "".join(texts)


@pytest.mark.parametrize("path", VARIANTS)
def test_every_variant_is_read_and_edited_as_ever(path: str) -> None:
    """Each declaration and note, each one taken away alone, all, and one more of every kind; or the refusal."""
    assert all_told(path) == (GOLDEN / f"variants-{path}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    for path in VARIANTS:
        (GOLDEN / f"variants-{path}.txt").write_text(all_told(path), encoding="utf-8")
