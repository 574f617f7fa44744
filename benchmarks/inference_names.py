"""Rebuild `python_names.json` and `python_companions.json`: who provides an import, and what comes along.

    python -m benchmarks.inference_names [--keep] [--wheels FOLDER] [--environment SITE_PACKAGES]...
        [--sample python.json] [--rust-sample rust.json] [--list NAMES --index DATABASE] [--report REPORT]
        [--packages NUGET]

`--list` has the most downloaded names with their ranks, by tabs; they become `python_popular.txt`. `--index` is
what pigar (BSD-3-Clause) ships, `pigar/.db.sqlite3`: what distributions offer to import. The listed ones count.

Merges, in rising order of authority: what wheels in a folder and the distributions of installed environments
record, the import roots of sampled repositories of the development split, and the list written by hand. With
`--keep`, what the data files say already stays, wheels add to it. Nothing is asked of a registry here; the wheels
are those of `samples/python_wheels.txt`:

    pip download --no-deps --only-binary :all: -d FOLDER -r benchmarks/samples/python_wheels.txt
    pip install --dry-run --no-deps --ignore-installed --only-binary :all: --report REPORT
        -r benchmarks/samples/python_foundations.txt
"""

import argparse
import json
import re
import sqlite3
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from packaging.requirements import Requirement

from groundup.sources.files import read_tree
from groundup.sources.names import NAMESPACES, companions, is_standard, normalised, table, words
from groundup_infer.python_layout import lay_out

SOURCES = Path(__file__).parent.parent / "src"
DATA = SOURCES / "groundup/sources/data"
INFER_DATA = SOURCES / "groundup_infer/data"
SHARED = words(
    """
    google azure zope backports jaraco sphinxcontrib tests test docs doc examples bin src lib libs app apps
    api base build cli client commands common config core data demo demos exceptions factories fixtures
    helpers main model models node_modules plugins run samples schema schemas server settings solver stubs
    swagger test_project test_utils tools types util utils version
    """
)


def recorded(distribution: Distribution) -> set[str]:
    """Return the import roots that an installed distribution records."""
    return import_roots(distribution.files or ())


def import_roots(files: Iterable[PurePosixPath]) -> set[str]:
    """Return the tops of what *files* offer to import; in a shared root, the first folder that holds modules."""
    roots = set()
    shared: set[tuple[str, ...]] = set()
    for file in files:
        first = file.parts[0]
        if first in NAMESPACES and file.suffix == ".py" and len(file.parts) > 2:
            shared.add(file.parts[:-1])
        if first.endswith((".dist-info", ".data", ".pth")) or first in {"..", "__pycache__"}:
            continue
        if len(file.parts) > 1 and file.suffix in {".py", ".so", ".pyi"}:
            roots.add(first)
        elif len(file.parts) == 1 and file.suffix in {".py", ".so"}:
            roots.add(first.split(".")[0])
    dotted = {
        ".".join(folder)
        for folder in shared
        if not any(folder[:length] in shared for length in range(2, len(folder)))
    }
    roots = {root for root in roots if root.isidentifier() and not root.startswith("__")}
    return (roots - SHARED - NAMESPACES) | dotted


def _plain(requirements: list[str]) -> list[str]:
    parsed = [Requirement(text) for text in requirements]
    return [
        normalised(item.name)
        for item in parsed
        if item.marker is None or item.marker.evaluate({"extra": "", "python_version": "3.11"})
    ]


def _data_of(name: str) -> Path:
    return DATA if name.startswith("python_") else INFER_DATA


def rust_names(sample: Path | None) -> dict[str, str]:
    """Return crate names by the spelling that code uses: the development split's, and those written by hand."""
    crates = {word for line in _lines("rust_names") for word in line.split()}
    if sample:
        for name, entry in json.loads(sample.read_text(encoding="utf-8")).items():
            if entry["split"] == "dev":
                crates.add(re.sub(r"-\d+\.\d+\.\d+.*$", "", name))
    return {crate.replace("-", "_"): crate for crate in sorted(crates)}


def write(name: str, key: str, content: Mapping[str, object]) -> None:
    """Write one data file with its origin."""
    document = {"provenance": "benchmarks/inference_names.py", key: dict(sorted(content.items()))}
    (_data_of(name) / f"{name}.json").write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")
    print(name, len(content))


class Gathered(NamedTuple):
    """Import -> distribution, and distribution -> what it requires."""

    names: dict[str, str]
    requires: dict[str, set[str]]


def add_known(gathered: Gathered) -> None:
    """Add what the data files say already."""
    gathered.names.update(table("python_names"))
    gathered.requires.update({name: set(others) for name, others in companions().items()})


def add_wheels(gathered: Gathered, folder: Path) -> None:
    """Add what the RECORD of each wheel in *folder* lists."""
    for wheel in sorted(folder.glob("*.whl")):
        name = normalised(wheel.name.partition("-")[0])
        with zipfile.ZipFile(wheel) as archive:
            files = [PurePosixPath(path) for path in archive.namelist() if not path.endswith("/")]
        for root in import_roots(files):
            gathered.names.setdefault(root, name)


def add_report(gathered: Gathered, report: Path) -> None:
    """Add what the distributions of pip's installation report require."""
    for item in json.loads(report.read_text(encoding="utf-8"))["install"]:
        name, required = item["metadata"]["name"], item["metadata"].get("requires_dist", [])
        gathered.requires.setdefault(normalised(name), set()).update(_plain(required))


def add_installed(gathered: Gathered, environment: Path) -> None:
    """Add what the distributions of one environment record."""
    for distribution in distributions(path=[str(environment)]):
        name = normalised(distribution.metadata["Name"])
        for root in recorded(distribution):
            gathered.names.setdefault(root, name)
        gathered.requires.setdefault(name, set()).update(_plain(distribution.requires or []))


MOST_PROVIDERS = 6
"""A module of more distributions than these is none that a name is for: `tests`, `docs`, a namespace."""


def ranks(names: Path, column: int = 3) -> dict[str, int]:
    """Return each listed distribution's rank among the most downloaded."""
    rows = (line.split("\t") for line in names.read_text(encoding="utf-8").splitlines())
    return {normalised(row[0]): int(row[column]) for row in rows if len(row) > column and row[column].isdigit()}


def add_index(gathered: Gathered, database: Path, rank: Mapping[str, int]) -> None:
    """Add modules whose most downloaded provider has another name: one that is like it, or offers little else."""
    providers: dict[str, list[str]] = defaultdict(list)
    offered: dict[str, set[str]] = defaultdict(set)
    query = "select d.name, m.name from distributions d join top_level_module_names m on m.distribution_id = d.id"
    for distribution, module in sqlite3.connect(database).execute(query):
        name = normalised(distribution)
        if name in rank and re.fullmatch(r"[A-Za-z]\w*", module) and not module.startswith("types_"):
            providers[module].append(name)
            offered[name].add(module)
    crowded = {module for module, names in providers.items() if len(names) > MOST_PROVIDERS}
    for module in providers.keys() - crowded - NAMESPACES - SHARED:
        best, own = min(providers[module], key=lambda name: rank[name]), normalised(module)
        namesake = own == best or (own in rank and rank[best] * 3 > rank[own])
        pair = [re.sub(r"[^a-z0-9]", "", text.lower()) for text in (module, best)]
        alike = pair[0] in pair[1] or pair[1] in pair[0] or {*own.split("-")} & {*best.split("-")}
        if not is_standard(module) and not namesake and (alike or len(offered[best] - crowded) <= 2):
            gathered.names.setdefault(module, best)


def add_sample(gathered: Gathered, index: Path) -> None:
    """Add the import roots and requirements of the development split."""
    for entry in json.loads(index.read_text(encoding="utf-8")).values():
        if entry["split"] != "dev":
            continue
        layout = lay_out(read_tree(index.parent / "python" / entry["tree"]))
        project = layout.project.name
        gathered.requires.setdefault(project, set()).update(entry["required"])
        for root in layout.roots if project else ():
            if root not in SHARED and normalised(root).replace("-", "") in project.replace("-", ""):
                gathered.names[root] = project


def add_hand_written(gathered: Gathered) -> None:
    """Add the lists written by hand."""
    for line in _lines("python_names"):
        module, _, name = line.partition(" ")
        gathered.names[module] = name
    for line in _lines("python_companions"):
        name, _, rest = line.partition(":")
        gathered.requires.setdefault(name, set()).update(rest.split())


_ODD_PACKAGES = re.compile(
    r"^(system|runtime|netstandard|microsoft\.(netcore|net|testplatform|sourcelink|bcl))\."
    r"|(analyzers?|tasks?|\.cli|tool|testlogger)$|sourcegenerat|\.targets$|runtime\.|\.linux|\.win|\.osx|native",
    re.IGNORECASE,
)
"""Packages of which no source file opens a namespace of the same name."""


def add_packages(listed: Path) -> None:
    """Write `csharp_popular.txt`: packages of NuGet whose names may be namespaces, too."""
    rows = (line.split("\t") for line in listed.read_text(encoding="utf-8").splitlines()[1:])
    served = {row[0] for row in rows if re.match(r"\d|untested|web-project", row[1])}
    names = sorted(
        (name for name in served if not _ODD_PACKAGES.search(name)), key=lambda name: (name.lower(), name)
    )
    head = "# Packages of NuGet whose names are namespaces, too: `benchmarks/inference_names.py --packages`.\n"
    (INFER_DATA / "csharp_popular.txt").write_text(head + "\n".join(names) + "\n", encoding="utf-8")


def _lines(name: str) -> list[str]:
    text = (_data_of(name) / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def main() -> None:
    """Merge and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="what the data files say already stays")
    parser.add_argument("--wheels", type=Path, help="a folder of wheels")
    parser.add_argument("--report", type=Path, help="what pip says of python_foundations.txt")
    parser.add_argument("--environment", type=Path, action="append", default=[])
    parser.add_argument("--list", type=Path, help="the most downloaded names")
    parser.add_argument("--index", type=Path, help="pigar's database")
    parser.add_argument("--sample", type=Path, help="python.json of inference_samples.py")
    parser.add_argument("--rust-sample", type=Path, help="rust.json of inference_samples.py")
    parser.add_argument("--packages", type=Path, help="packages of NuGet: name, tab, a version that restores")
    options = parser.parse_args()
    gathered = Gathered({}, {})
    if options.keep:
        add_known(gathered)
    if options.wheels:
        add_wheels(gathered, options.wheels)
    if options.report:
        add_report(gathered, options.report)
    for environment in options.environment:
        add_installed(gathered, environment)
    if options.sample:
        add_sample(gathered, options.sample)
    if options.list:
        rank = ranks(options.list)
        head = "# The most downloaded distributions, November 2026: an import of the same name is theirs.\n"
        (DATA / "python_popular.txt").write_text(head + "\n".join(sorted(rank)) + "\n", encoding="utf-8")
        if options.index:
            add_index(gathered, options.index, rank)
    add_hand_written(gathered)
    odd = [name for name in gathered.names.values() if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)]
    if odd:
        raise SystemExit(f"not normalised: {odd}")
    write("python_names", "names", gathered.names)
    write(
        "python_companions",
        "requires",
        {name: sorted(others) for name, others in gathered.requires.items() if name and others},
    )
    crates = rust_names(options.rust_sample)
    write("rust_names", "names", {**table("rust_names", "groundup_infer"), **crates} if options.keep else crates)
    if options.packages:
        add_packages(options.packages)


if __name__ == "__main__":
    main()
