"""A fresh draw of C# repositories by a recorded seed, from packages that NuGet serves.

    python -m benchmarks.csharp_draw order --list PACKAGES [--seed 20261128]
    python -m benchmarks.csharp_draw eligible CLONE...

`order` prints names in the order of the draw. PACKAGES has a package a line, its name before the first tab and a
version that restores behind it. Of names with the same first part (`Serilog`, `Serilog.Sinks.File`) the shortest
stands for all. Left out: `Microsoft` and `System`, and every name that stands anywhere in this project.
A name's repository is the one on GitHub that its page at NuGet names; where there is none, or it cannot be
fetched, the next name is taken. `eligible` says of each clone whether it counts: it has a GitHub workflow, a
project that references a test framework, a target of .NET 6 or later, and at most 3,000 files of C#. The first
twelve that count are held out, the next twelve are for development, the others are a second draw.
`samples/csharp_drawn.json` names them, with the newest commit then; it was written before any inference was
developed on them.
"""

import argparse
import random
import re
import subprocess
from pathlib import Path

SEED = 20261128
LARGEST = 3_000
"""Files of C#."""
_LEFT_OUT = frozenset({"microsoft", "system"})
_TESTS = re.compile(
    r'<PackageReference\s[^>]*(?:Include|Update)\s*=\s*"(?:Microsoft\.NET\.Test\.Sdk|xunit[\w.]*|NUnit|MSTest[\w.]*|TUnit)"'
    r'|Sdk\s*=\s*"MSTest\.Sdk',
    re.IGNORECASE,
)
_MODERN = re.compile(r"\bnet(?:[6-9]|1\d)\.0\b")


def ordered(listed: str, seed: int) -> list[str]:
    """Return the families of packages in the order of *seed*, without those that this project names."""
    grep = ["git", "grep", "-h", "-I", "-o", "-i", "-E", "[a-z0-9_]+"]
    words = set(subprocess.run(grep, capture_output=True, text=True, check=True).stdout.lower().split())
    families: dict[str, str] = {}
    for line in listed.splitlines():
        name, _, rest = line.partition("\t")
        first = name.partition(".")[0].lower()
        if rest[:1].isdigit() and first not in _LEFT_OUT | words:
            families[first] = min(families.get(first, name), name, key=lambda one: (len(one), one))
    order = [families[first] for first in sorted(families)]
    random.Random(seed).shuffle(order)
    return order


def why_not(clone: Path) -> str:
    """Return why the repository at *clone* does not count; empty where it does."""
    if not any(path.suffix in {".yml", ".yaml"} for path in clone.glob(".github/workflows/*")):
        return "no workflow"
    projects = [path.read_text("utf-8", "replace") for path in clone.rglob("*.csproj")]
    shared = [path.read_text("utf-8", "replace") for path in clone.rglob("Directory.Build.*")]
    if not any(map(_TESTS.search, [*projects, *shared])):
        return "no project references a test framework"
    if not any(map(_MODERN.search, [*projects, *shared])):
        return "no target of .NET 6 or later"
    count = sum(1 for _ in clone.rglob("*.cs"))
    return f"{count} files of C#" if count > LARGEST else ""


def main() -> None:
    """Print the order, or what counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    order = commands.add_parser("order")
    order.add_argument("--list", type=Path, required=True)
    order.add_argument("--seed", type=int, default=SEED)
    commands.add_parser("eligible").add_argument("clones", type=Path, nargs="+")
    options = parser.parse_args()
    if options.what == "order":
        print("\n".join(ordered(options.list.read_text(encoding="utf-8"), options.seed)))
        return
    for clone in options.clones:
        print(f"{clone.name}: {why_not(clone) or 'counts'}")


if __name__ == "__main__":
    main()
