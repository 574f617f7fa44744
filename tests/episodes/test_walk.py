"""The walk of a submission in docs/developers/architecture.md is the one that is taken."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST = 40


def walk() -> list[str]:
    """Return the modules that the page names, in order."""
    text = (ROOT / "docs" / "developers" / "architecture.md").read_text()
    section = text.partition("## The walk of a submission")[2].partition("These are")[0]
    modules: list[str] = []
    for line in re.findall(r"(?m)^ {4}( *\S.*)$", section):
        names = re.split(r"\s{2,}", line.strip())[0].split(", ")
        folder = ""
        for name in names:
            folder = name.rpartition("/")[0] or folder
            modules.append(f"{folder}/{name.rpartition('/')[2]}")
    return modules


def test_the_walk_names_modules_and_stays_short() -> None:
    """Every name is a module, none stands there twice, and the number is the one that the page says."""
    modules = walk()
    lost = [name for name in modules if not (ROOT / "src" / "groundup" / f"{name}.py").exists()]
    assert not lost
    assert len(set(modules)) == len(modules) < MOST
    said = re.search(r"These are (\d+) modules", (ROOT / "docs" / "developers" / "architecture.md").read_text())
    assert said is not None
    assert int(said[1]) == len(modules)


def test_the_walk_goes_down() -> None:
    """Whatever is indented deeper lies in the same layer or a lower one."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    ranks = {name.strip(" ()"): rank for rank, layer in enumerate(layers) for name in layer.split("|")}
    text = (ROOT / "docs" / "developers" / "architecture.md").read_text()
    section = text.partition("## The walk of a submission")[2].partition("These are")[0]
    above: list[tuple[int, int]] = []
    for spaces, name in re.findall(r"(?m)^ {4}( *)(\w+)/", section):
        while above and above[-1][0] >= len(spaces):
            above.pop()
        assert not above or above[-1][1] <= ranks[name], f"{name} lies above its caller"
        above.append((len(spaces), ranks[name]))
