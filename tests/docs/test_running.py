"""The commands that pages show are run, each in a home with the files that it names, as far as tests can.

A toy stands in for the benchmarks where submissions are graded: what is tried is that a line of a page works, not
what a benchmark finds. The lines in `NOT_RUN` are only parsed, for the reasons given there.
"""

import json
import subprocess
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

import pytest
from typing_extensions import override

from groundup.settings import Settings
from groundup.suites.opening import SUITES
from tests.cli.conftest import Groundup
from tests.docs.pages import PAGES, ROOT, blocks, command_lines
from tests.runs.toy import BEHAVIOUR, ToyGrader, ToySuite

RUNS = ("my-run", "model-a", "model-b", "before", "after")
TASKS = ("sqlparse", "six", "jsonlines", "greeter")
LINES = sorted({tuple(line) for page in PAGES for line in command_lines(page)})

TRIED = {"compare", "curate", "data", "docs", "evaluate", "export", "infer", "init"}
TRIED |= {"regrade", "report", "resume", "run", "runs", "suites", "tasks"}
"""Commands whose lines are run. Those of others, such as a server, are parsed only."""

NOT_RUN = {
    "a model or an endpoint": (
        "run * -m *",
        "run --config *",
        "judge *",
    ),
    "a package index and minutes; the tutorial's test runs it": (
        "demo",
        "doctor*",
        "shell runs/broken *",
        "show runs/first-agent *",
    ),
    "a real sandbox": ("shell *", "curate instance * --validate", "curate validate *"),
    "a machine without leftovers of other runs": ("clean*",),
    "an engine that runs containers": (
        "* --sandbox docker*",
        "* --sandbox podman*",
        "* --image images/*",
        "* --image REGISTRY/*",
    ),
    "a fleet": ("* --workers *",),
    "an end: it serves until it is stopped": ("serve *",),
    "a trajectory": ("show *", "export * --format atif"),
    "the extra plots (tests/reports/test_formats.py)": ("report * --plots *",),
    "the network, or a builder": (
        "data pull nl2repobench*",
        "data pull repogenesis",
        "data pull dibench",
        "recipe *",
        "warm *",
        "curate set *",
    ),
    "a set that was made (tests/groundup_factory/test_curate_set.py, test_packing.py)": (
        "curate pack *",
        "curate refresh *",
        "curate why *",
        "curate yield *",
        "data pull my-set --from *",
    ),
    "submissions of one's own": ("audit * --submissions *",),
    "a data set of one's own": ("data pull *@* --from *", "run *@*", "run ./my-s*"),
    "a task that one suite alone has (tests/cli/test_evaluate.py)": ("evaluate ~/sqlparse",),
    "published data": (
        "data convert *",
        "tasks dibench --statistics",
        "ablate *",
        "* eval_results/*",
        "compare published/*",
        "* --format repogenesis*",
        "* --layout repogenesis*",
        "run * --tasks autopep8,*",
        "export * --format patch",
    ),
}
"""What lines need that this test has not: patterns by reason, of which the first that fits counts."""


class StandIn(ToySuite):
    """A toy with the tasks, groups, subjects and graders that pages name."""

    subjects = ("oracle", "nop", "static")
    variants = ("hints", "node")

    def __init__(self) -> None:
        super().__init__(len(TASKS), written=True)
        self._tasks = [task.but(id=name) for task, name in zip(self._tasks, TASKS, strict=True)]
        self._graders = {
            name: ToyGrader(name, "1", None) for name in ("strict", "full", "official", "execution", "static")
        }

    @override
    def varied(self, words: Sequence[str]) -> "StandIn":
        """Return the same: only names count here."""
        return self

    @override
    def groups(self) -> Mapping[str, Collection[str]]:
        """Return two that hold all tasks."""
        return {"valid": TASKS, "python": TASKS}


def create(settings: Settings) -> StandIn:
    """Return the stand-in."""
    return StandIn()


def reason_not_to_run(line: str) -> str | None:
    """Return what *line* needs that is not here."""
    fitting = (why for why, patterns in NOT_RUN.items() if any(fnmatchcase(line, one) for one in patterns))
    return None if "--dry-run" in line else next(fitting, None)


RUN = [line for line in LINES if line[0] in TRIED and reason_not_to_run(" ".join(line)) is None]


def predict(place: Path) -> None:
    """Hand in what passes for every task: a folder for each, or a file with a line for each."""
    folder = place.with_suffix("") if place.suffix == ".jsonl" else place
    for task in TASKS:
        (folder / task).mkdir(parents=True)
        (folder / task / BEHAVIOUR).write_text("pass")
    if place.suffix == ".jsonl":
        lines = [{"instance_id": task, "path": f"{folder.name}/{task}"} for task in TASKS]
        place.write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_repository(place: Path) -> None:
    """A repository with a dependency that its code imports, a test job, and a commit."""
    for name, text in {
        "pyproject.toml": '[project]\nname = "mine"\nversion = "1"\ndependencies = ["click"]\n',
        "mine.py": "import click\n",
        ".github/workflows/ci.yml": "on: push\njobs: {test: {runs-on: ubuntu-latest, steps: [{run: pytest}]}}\n",
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    as_somebody = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for arguments in (("init", "-q"), ("add", "."), (*as_somebody, "commit", "-qm", "begin")):
        subprocess.run(["git", *arguments], cwd=place, check=True, capture_output=True)


def prepare(line: tuple[str, ...], groundup: Groundup, home: Path) -> None:
    """Put what *line* names into *home*."""
    for option, value in pairwise(line):
        if option == "-p":
            predict(home / value.removeprefix("~/"))
        if option == "--from" and value == "my-tasks":
            for block in blocks(ROOT / "docs" / "tutorial.md"):
                if block.title.startswith("my-tasks/"):
                    (home / block.title).parent.mkdir(parents=True, exist_ok=True)
                    (home / block.title).write_text(block.text)
        if option == "--from" and value == "my-set":
            write_repository(home / "repository")
            assert groundup("curate", "instance", "repository", "-l", "python", "-o", "my-set").code == 0
    if line[0] in ("infer", "curate"):
        write_repository(home / next((word for word in line if "/" in word), "."))
    runs = [word.removeprefix("runs/") for word in line if word in RUNS or word.startswith("runs/")]
    if line[:2] == ("runs", "rm"):
        runs += [word for word in line[2:] if not word.startswith("-")]
    if runs:
        predict(home / "handed-in")
    for name in runs:
        made = groundup("evaluate", "nl2repobench", "-p", "handed-in", "--run-id", name)
        assert made.code == 0, made.err


@pytest.mark.needs("git")
@pytest.mark.parametrize("line", RUN, ids=" ".join)
def test_what_pages_show_works(
    line: tuple[str, ...], groundup: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader who copies the line, in a folder with the files that it names, gets a result and no complaint."""
    if line[0] not in ("suites", "tasks", "data", "doctor"):
        for suite in ("nl2repobench", "dibench", "repogenesis"):
            monkeypatch.setitem(SUITES.shipped, suite, lambda: create)
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "my_suite.py").write_text(f"from {__name__} import create\n")
    monkeypatch.syspath_prepend(tmp_path)
    prepare(line, groundup, tmp_path)
    ended = groundup(*(word.replace("~", str(tmp_path)) for word in line))
    assert ended.code == 0, ended.err
    assert ended.out or ended.err


def test_every_reason_not_to_run_a_line_has_lines() -> None:
    """A pattern that fits nothing is out of date; and most lines are run."""
    shown = [" ".join(line) for line in LINES]
    for patterns in NOT_RUN.values():
        for pattern in patterns:
            assert any(fnmatchcase(line, pattern) for line in shown), pattern
    assert len(RUN) > 50
