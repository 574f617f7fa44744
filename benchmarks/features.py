"""Writes docs/developers/features.md: every module in one row, each with lines, tests and who would miss it.

python -m benchmarks.features            the table
python -m benchmarks.features --write    writes it into that page, as `make check` does

Fails where a module has no row, and where a row or a prefix of features.toml has no module any more.
"""

import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.structure import STALE

from groundup.domain.records import Record

ROOT = Path(__file__).parents[1]
RULES = Path(__file__).with_name("features.toml")
PAGE = ROOT / "docs" / "developers" / "features.md"
BEGIN, END = "<!-- features: python -m benchmarks.features --write -->\n\n", "\n<!-- end of features -->\n"
CORE = "groundup"


class Feature(Record):
    """One row of the table."""

    name: str
    missed: str
    """Who would file a bug without it."""
    modules: tuple[str, ...]
    """Prefixes of modules' names."""

    @property
    def owner(self) -> str:
        """The import package that has it."""
        return self.modules[0].partition(".")[0]


class Counts(NamedTuple):
    """Lines of each feature, by its name."""

    source: Counter[str]
    tests: Counter[str]
    shared: int
    """Lines of tests that belong to none, such as what tests share."""


def features(path: Path = RULES) -> list[Feature]:
    """Return the rows of the data file."""
    return [Feature.model_validate(one) for one in tomllib.loads(path.read_text(encoding="utf-8"))["feature"]]


def module_of(path: Path, root: Path) -> str:
    """Return the module's name that the rules know a file by; a test's is that of what it tests."""
    parts = [*path.relative_to(root).with_suffix("").parts]
    if root.name == "tests":
        parts = [part.removeprefix("test_") for part in parts]
        parts = parts if parts[0].startswith(f"{CORE}_") else [CORE, *parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def row_of(module: str, rows: Mapping[str, Feature]) -> tuple[str, Feature] | None:
    """Return the longest prefix of *module* in *rows*, with its feature."""
    name = module
    while name:
        if name in rows:
            return name, rows[name]
        name = name.rpartition(".")[0]
    return None


def counted(found: Iterable[Feature], root: Path = ROOT) -> Counts:
    """Count lines by feature. Raises `SystemExit` for a module without a row and for a prefix without a module."""
    rows = {prefix: one for one in found for prefix in one.modules}
    counts, used = Counts(Counter(), Counter(), 0), set()
    for path in sorted((root / "src").rglob("*.py")):
        module = module_of(path, root / "src")
        row = row_of(module, rows)
        if row is None or (row[0] == CORE and module.count(".") > 1):  # that prefix is for what lies at the top
            raise SystemExit(f"{module} is in no row of {RULES.name}: add its prefix, and who would miss it")
        used.add(row[0])
        counts.source[row[1].name] += _lines(path)
    here = {path.name for path in (root / "src").iterdir()}
    if unused := sorted(name for name in rows.keys() - used if name.partition(".")[0] in here):
        raise SystemExit(f"no module is left for {', '.join(unused)}: take that out of {RULES.name}")
    shared = 0
    for path in sorted((root / "tests").rglob("*.py")):
        row = row_of(module_of(path, root / "tests"), {name: one for name, one in rows.items() if name != CORE})
        if row is None:
            shared += _lines(path)
        else:
            counts.tests[row[1].name] += _lines(path)
    return counts._replace(shared=shared)


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def table(found: Iterable[Feature], counts: Counts) -> str:
    """Return the table and its sums."""
    lines = ["| feature | package | source | tests | who would miss it |", "|---|---|---:|---:|---|"]
    packages: Counter[str] = Counter()
    for one in sorted(found, key=lambda one: (one.owner != CORE, one.owner)):
        packages[one.owner] += counts.source[one.name]
        figures = f"{counts.source[one.name]:,} | {counts.tests[one.name]:,}"
        lines.append(f"| {one.name} | `{one.owner}` | {figures} | {one.missed} |")
    lines += ["", "| package | source |", "|---|---:|"]
    lines += [f"| `{name}` | {count:,} |" for name, count in packages.items()]
    lines += ["", f"Tests have {counts.shared:,} further lines that several features share."]
    return "\n".join(lines) + "\n"


def is_stale(shown: str, now: str) -> bool:
    """Return whether words differ, or a figure by more than figures of pages may."""
    old, new = (text.replace(",", "").split() for text in (shown, now))
    if len(old) != len(new):
        return True
    pairs = [(one, other) for one, other in zip(old, new, strict=True) if one != other]
    return any(
        not (one.isdigit() and other.isdigit()) or abs(int(one) - int(other)) > STALE * int(other)
        for one, other in pairs
    )


def main(arguments: list[str]) -> int:
    """Print the table, or write it into its page."""
    found = features()
    now = table(found, counted(found))
    if "--write" not in arguments:
        print(now, end="")
        return 0
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    shown, _, after = rest.partition(END)
    if is_stale(shown, now):
        PAGE.write_text(f"{before}{BEGIN}{now}{END}{after}", encoding="utf-8")
        print(f"{PAGE.relative_to(ROOT)} was written anew")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
