"""Whoever reads an edited run is told first, by each command, and the command in the hint finds it."""

import os
import re
import shlex
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from groundup.settings import load
from groundup.viewer.app import Viewer
from tests.cli.conftest import Groundup
from tests.store.edits import FOUND, REFUSED, Edit
from tests.store.folders import SHAPES, as_earlier, write_run

EDITS: dict[str, tuple[str, Edit]] = {case: edit[:2] for case, edit in (FOUND | REFUSED).items()}
"""A run, and what is done to it."""
EVERY = 8
"""Of the edits of runs that can be read every such one is tried here; `python -m benchmarks.edits` tries all."""


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs that are edited."""
    folder = tmp_path_factory.mktemp("honest")
    for suite in SHAPES:
        write_run(folder / suite, suite)
        as_earlier(write_run(folder / f"earlier-{suite}", suite))
    write_run(folder / "agent", "nl2repobench", made_by_agent=True)
    as_earlier(write_run(folder / "earlier-agent", "nl2repobench", made_by_agent=True))
    return folder


def commands(run: Path, base: Path, room: Path) -> dict[str, list[str]]:
    """Return what somebody may type who reads *run*, or compares it with *base*."""
    return {
        "report": ["report", str(run)],
        "report --json": ["report", str(run), "--json"],
        "report --format latex": ["report", str(run), "--format", "latex"],
        "report report.json": ["report", str(run / "report.json")],
        "compare": ["compare", str(base), str(run)],
        "compare --json": ["compare", str(base), str(run), "--json"],
        "why": ["why", str(run)],
        "review": ["review", str(run)],
        "runs": ["runs", "--output", str(run.parent)],
        "runs --json": ["runs", "--output", str(run.parent), "--json"],
        "runs check": ["runs", "check", str(run)],
        "export": ["export", str(run), str(room / "export")],
        "report --layout paper": ["report", str(run.parent), "--layout", "paper"],
        "leaderboard pack": [
            "leaderboard",
            "pack",
            str(run),
            "-o",
            str(room / "b.tar.gz"),
            "--contamination",
            "none",
        ],
        "view --bundle": ["view", str(run), "--bundle", str(room / "site")],
    }


def unsaid(groundup: Groundup, run: Path, base: Path, room: Path) -> list[str]:
    """Return which commands do not say that *run* was edited, crash, or name a command that does not find it."""
    found = []
    for name, arguments in commands(run, base, room).items():
        ended = groundup(*arguments)
        said = ended.out + ended.err
        if ended.code not in (0, 2, 4) or "a bug" in said or "no attempt lost points" in said:
            found.append(f"{name}: exit code {ended.code}: {said[-200:]}")
        elif ended.code == 0 and not name.startswith(("runs", "report --layout", "leaderboard")):
            found.append(f"{name}: exit code 0")
        elif name == "leaderboard pack":  # without the suite's data it is refused before the run is read
            found += [] if ended.code == 2 else [f"{name}: exit code {ended.code}"]
        elif not SAID.search(said):
            found.append(f"{name}: says nothing")
        hints = re.findall(r"`groundup (runs check .*?)`", " ".join(ended.err.split()))
        wrong = [hint for hint in hints if str(run) in hint and groundup(*shlex.split(hint)).code != 4]
        found += [f"{name}: `{hint}` finds nothing" for hint in wrong]
    return found + unshown(run, base, room)


SAID = re.compile("not fit|cannot be read|was changed|not a run folder|no report|is no run")


def unshown(run: Path, base: Path, room: Path) -> list[str]:
    """Return which pages of the viewer do not say that *run* was edited: list, run, comparison and bundle."""
    shown = room / "shown"
    shutil.copytree(base, shown / "base")
    shutil.copytree(run, shown / "copy", symlinks=True, copy_function=_copied)
    pages = {"list": "/", "run": "/run/copy", "comparison": "/compare?run=base&run=copy"}
    viewer = Viewer(load({"output": str(shown)}))
    with closing(viewer.index), TestClient(viewer.app()) as client:
        texts = {name: client.get(address).text for name, address in pages.items()}
    site = room / "site"
    texts |= {f"bundle's {page.name}": page.read_text() for page in [site / "index.html"] if page.exists()}
    return [f"{name} of the viewer: says nothing" for name, text in texts.items() if not SAID.search(text)]


def _copied(source: str, target: str) -> str:
    """Copy a file as it is, and a pipe as another pipe."""
    if Path(source).is_fifo():
        os.mkfifo(target)
        return target
    return shutil.copy2(source, target, follow_symlinks=False)


@pytest.mark.parametrize("case", [*list(FOUND)[::EVERY], *REFUSED])
def test_no_command_reads_past_the_check(groundup: Groundup, honest: Path, tmp_path: Path, case: str) -> None:
    """None prints a figure of it without a word, and the hint leads to the run that was edited."""
    name, edit = EDITS[case]
    run = Path(shutil.copytree(honest / name, tmp_path / "edited" / "copy"))
    edit(run)
    assert unsaid(groundup, run, honest / name, tmp_path) == []
