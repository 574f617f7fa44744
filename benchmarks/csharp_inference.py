"""How well packages and references between projects of C# are inferred where the declarations were masked.

    python -m benchmarks.csharp_inference CLONE... [--errors FILE] [--each]

Each clone (a folder with the files of one commit) is copied, masked as instances of DI-Bench are, and given to
what the subject `static` does. What its projects then declare is compared with what they declared, by a reader of
this file's own. Counts are summed over repositories: packages once a repository, packages once a project, and
references between projects once a project. Projects of other languages than C# are left out.
"""

import argparse
import json
import posixpath
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from benchmarks.inference import Counts, line

from groundup.languages.masking import mask_repository
from groundup_infer.written import INFERRED_KINDS, write_inferred

_PACKAGES = ("packagereference", "globalpackagereference")


class Declared(NamedTuple):
    """What a repository's C# projects, and what they import, declare."""

    packages: frozenset[str]
    by_project: frozenset[tuple[str, str]]
    references: frozenset[tuple[str, str]]

    def without(self, left: "Declared") -> "Declared":
        """Return what is not in *left*."""
        return Declared(
            self.packages - left.packages, self.by_project - left.by_project, self.references - left.references
        )


def declared(root: Path) -> Declared:
    """Read every project, props and targets file below *root* but `packages.config`."""
    packages, references = set(), set()
    files = [path for ending in ("*.csproj", "*.props", "*.targets") for path in root.rglob(ending)]
    for path in files:
        place = path.relative_to(root).as_posix()
        for kind, name in _items(path):
            if kind in _PACKAGES:
                packages.add((place, name.lower()))
            elif name.lower().endswith(".csproj"):
                target = posixpath.join(posixpath.dirname(place), name.replace("\\", "/"))
                references.add((place, posixpath.normpath(target).lower()))
    return Declared(frozenset(name for _, name in packages), frozenset(packages), frozenset(references))


def _items(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the type and name of each item of a file that names no property; nothing of one that is no XML."""
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except (ElementTree.ParseError, ValueError):
        return
    for group in root.iter():
        if group.tag.rpartition("}")[2].lower() != "itemgroup":
            continue
        for item in group:
            kind = item.tag.rpartition("}")[2].lower() if isinstance(item.tag, str) else ""
            if kind in (*_PACKAGES, "projectreference"):
                names = (name.strip() for name in item.get("Include", "").split(";"))
                yield from ((kind, name) for name in names if name and "(" not in name)


def measured(clone: Path) -> tuple[Declared, Declared]:
    """Return what *clone* declares, and what its masked copy declares once inference has written into it."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "copy"
        report = mask_repository(clone, copy, "csharp")
        left = declared(copy)
        files = [one.path for one in report.masked if one.dependencies]

        def read(path: str) -> bytes:
            return (copy / path).read_bytes()

        for file in write_inferred(copy, "csharp", files, read, INFERRED_KINDS["csharp"]):
            (copy / file.path).write_bytes(file.content)
        found = declared(copy)
    wanted = declared(clone)
    return wanted.without(left), found.without(left)


def main() -> None:
    """Measure and print a line for each notion, and what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", type=Path, nargs="+")
    parser.add_argument("--errors", type=Path, help="a file for what is wrong and missing, as JSON")
    parser.add_argument("--each", action="store_true", help="a line for each repository")
    options = parser.parse_args()
    counts: dict[str, list[Counts]] = {name: [] for name in Declared._fields}
    errors: dict[str, dict[str, dict[str, list[str]]]] = {}
    started = time.process_time()
    for clone in options.clones:
        wanted, found = measured(clone)
        errors[clone.name] = {}
        for name, right, ours in zip(Declared._fields, wanted, found, strict=True):
            counts[name].append(Counts(len(right & ours), len(ours - right), len(right - ours)))
            errors[clone.name][name] = {
                "wrong": sorted(map(str, ours - right)),
                "missed": sorted(map(str, right - ours)),
            }
        if options.each:
            shown = "  ".join(
                f"{name} {100 * counts[name][-1].f1:.0f} {tuple(counts[name][-1])}" for name in counts
            )
            print(f"{clone.name}: {shown}", flush=True)
    seconds = time.process_time() - started
    for name, each in counts.items():
        print(f"{name:10} {line(each, seconds)}")
    if options.errors:
        options.errors.write_text(json.dumps(errors, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
