"""The walk of one command: in how many modules it stays, and which calls climb to a layer above.

    python -m benchmarks.walk evaluate nl2repobench -p predictions/ --tasks sqlparse --no-cache

Runs the command in this process under `sys.setprofile`. A stay is a module of groundup in which some function ran;
those that the walk in docs/developers/architecture.md names are counted apart. A climb is a function called by one
of a layer below its own, by the layers of import-linter in pyproject.toml: what an object handed down allows.
"""

import re
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType

from groundup.cli.main import main as run_command

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "developers" / "architecture.md"
Calls = dict[tuple[str, str], set[tuple[str, str]]]
"""By the modules of who calls and what is called: the two functions."""


def layers(project: str) -> dict[str, int]:
    """Return the layer of each folder of groundup, the highest first, as `pyproject.toml` orders them."""
    listed = re.search(r'name = "Imports point down".*?layers = \[\n(.*?)\n\]', project, re.DOTALL)
    assert listed
    rows = re.findall(r'"([^"]+)"', listed[1])
    return {name.strip(" ()"): at for at, row in enumerate(rows) for name in row.split("|")}


def named_on_the_walk(page: str) -> frozenset[str]:
    """Return the modules that the page's walk names."""
    walk = page.partition("## The walk of a submission")[2].partition("These are")[0]
    found: set[str] = set()
    for line in walk.splitlines():
        if not line.startswith("    "):
            continue
        folder = ""
        for name in re.findall(r"[a-z_0-9]+(?:/[a-z_0-9]+)*(?=,|\s{2,}|$)", re.split(r"\s{2,}", line.strip())[0]):
            folder = name.rpartition("/")[0] or folder
            found.add(f"groundup.{folder.replace('/', '.')}.{name.rpartition('/')[2]}")
    return frozenset(found)


def climbs(calls: Calls, order: Mapping[str, int]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the calls that go up: modules and functions of both ends."""

    def layer(module: str) -> int | None:
        parts = module.split(".")
        return order.get(parts[1]) if parts[0] == "groundup" and len(parts) > 1 else None

    for (below, above), functions in sorted(calls.items()):
        low, high = layer(below), layer(above)
        if low is not None and high is not None and high < low:
            yield from ((below, caller, above, called) for caller, called in sorted(functions))


def traced(arguments: list[str]) -> tuple[Calls, set[str]]:
    """Run a command; return the calls between modules of groundup, and the modules in which a function ran."""
    calls: Calls = defaultdict(set)
    ran: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or frame.f_code.co_name == "<module>":
            return
        module = frame.f_globals.get("__name__") or ""
        if not module.startswith("groundup"):
            return
        ran.add(module)
        caller = frame.f_back
        above = "" if caller is None else caller.f_globals.get("__name__") or ""
        if caller is not None and above != module and above.startswith("groundup"):
            calls[above, module].add((caller.f_code.co_qualname, frame.f_code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run_command(arguments)
    except SystemExit as ended:
        if ended.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls, ran


def main() -> int:
    """Run the command and print its stays and climbs."""
    calls, ran = traced(sys.argv[1:])
    named = named_on_the_walk(PAGE.read_text(encoding="utf-8"))
    print(f"stays: {len(ran)} modules, of which the walk of the page names {len(ran & named)} of {len(named)}")
    print(*(f"  named and not walked: {one}" for one in sorted(named - ran)), sep="\n")
    found = list(climbs(calls, layers((ROOT / "pyproject.toml").read_text(encoding="utf-8"))))
    functions, modules = {one[:2] for one in found}, {one[0] for one in found}
    print(f"climbs: {len(found)} calls, by {len(functions)} functions of {len(modules)} modules")
    for below, caller, above, called in found:
        print(f"  {below}.{caller} > {above}.{called}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
