"""What this machine can do, whatever it is."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from groundup.cli.doctor import MachineReport, _git_host
from groundup.runs.gradable import Gradable, Host, Lack
from groundup.sandbox.machine import Fact, FactStatus
from groundup.settings import Settings
from tests.cli.conftest import Groundup


@pytest.fixture(autouse=True)
def _no_git_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask no host of the world."""
    monkeypatch.setenv("GROUNDUP_GIT_MIRROR", str(tmp_path / "mirror"))
    nowhere = {"COUNT": "1", "KEY_0": f"url.{tmp_path}/nowhere/.insteadOf", "VALUE_0": "https://"}
    for name, value in nowhere.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)


def test_every_fact_has_a_standing_and_every_fault_says_what_to_do(groundup: Groundup) -> None:
    """0 when this machine can grade, 3 when not; nothing is bad without advice."""
    ended = groundup("doctor", "--json")
    document = json.loads(ended.out)
    assert ended.code == (0 if document["ready"] else 3)
    names = {fact["name"] for fact in document["facts"]}
    assert {"attempts", "uv", "package index", "JDK", "Maven"} <= names
    assert all(fact["advice"] for fact in document["facts"] if fact["status"] == "bad")
    suites = {one["suite"]: one for one in document["suites"]}
    listed = json.loads(groundup("tasks", "nl2repobench", "--json").out)["tasks"]
    assert suites["nl2repobench"]["tasks"] == len(listed) >= 32
    assert "github.com" in names
    facts = {fact["name"]: fact["status"] for fact in document["facts"]}
    if facts["github.com"] == "limited":
        lack = "a repository that neither the mirror nor github.com hands out" if shutil.which("git") else "git"
        lacks = [one["what"] for one in suites["nl2repobench"]["lacks"]]
        # Where no recipe's Python is here, each task lacks that first.
        assert lack in lacks or lacks[0].startswith("Python 3.7 (")


@pytest.mark.needs("git")
def test_of_a_mirror_only_what_it_has_is_counted(groundup: Groundup, tmp_path: Path) -> None:
    """Each repository is asked for, and the list of tasks claims none of what only asking tells."""
    mirrored = tmp_path / "mirror" / "github.com" / "groodt" / "retrying"
    subprocess.run(["git", "init", "-q", "--bare", mirrored], check=True)
    found = json.loads(groundup("doctor", "--json").out)
    facts = {fact["name"]: fact for fact in found["facts"]}
    assert facts["github.com"]["value"].startswith("1 of ")
    (standing,) = (one for one in found["suites"] if one["suite"] == "nl2repobench")
    (away,) = (lack["tasks"] for lack in standing["lacks"] if lack["what"].startswith("a repository that"))
    assert standing["online"] + sum(lack["tasks"] for lack in standing["lacks"]) == standing["tasks"]
    shutil.rmtree(mirrored)
    assert _without_repository(groundup) - away == (facts["Python 3.10"]["status"] == "good")
    assert "`groundup doctor` counts what can be graded here" in groundup("tasks", "nl2repobench").err


def _without_repository(groundup: Groundup) -> int:
    """Return how many tasks of nl2repobench lack nothing but a repository."""
    suites = json.loads(groundup("doctor", "--json").out)["suites"]
    lacks = next(one["lacks"] for one in suites if one["suite"] == "nl2repobench")
    return int(next(lack["tasks"] for lack in lacks if lack["what"].startswith("a repository that")))


def test_each_advice_is_given_once_and_the_shortest_way_to_more_last(
    groundup: Groundup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Five missing interpreters are one command; the counts of the suites stand at the end."""
    for name in ("PATH", "HOME", "UV_PYTHON_INSTALL_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    ended = groundup("doctor")
    lines = ended.err.splitlines()
    assert len(set(lines)) == len(lines)
    assert sum("UV_PYTHON_INSTALL_MIRROR" in line for line in lines) == 1
    if ended.code == 0:
        assert " of 100 tasks of nl2repobench, 0 of 30 tasks of repogenesis" in lines[-2]
        assert lines[-1].startswith("groundup: the shortest way to ")
        assert "more: `uv python install 3." in lines[-1]


def test_the_table_says_what_enforces_each_limit(groundup: Groundup) -> None:
    """On Linux, where there are limits."""
    ended = groundup("doctor")
    assert "package index" in ended.out
    assert "Tasks that can be graded here" in ended.out
    assert "groundup: " in ended.err


GOOD = Fact(name="uv", status=FactStatus.GOOD, value="1")
BAD = Fact(name="sandboxes", status=FactStatus.BAD, value="none", advice="allow user namespaces")
DATA = Lack(what="data", tasks=3, command="groundup data pull toy", advice="`groundup data pull toy` brings it")
PYTHON = Lack(what="Python 3.8 (2)", tasks=2, command="uv python install 3.8", advice="fetch it", alone=1)
JDK = Lack(what="a JDK", tasks=9, advice="install one")
READY = Gradable(suite="toy", tasks=9, online=3, offline=1, lacks=(DATA, PYTHON, JDK), beside=("no Docker",))


@pytest.mark.parametrize(
    ("facts", "suites", "code", "said"),
    [
        (
            (GOOD,),
            (
                Gradable(
                    suite="toy", tasks=9, online=3, offline=1, lacks=(DATA, PYTHON, JDK), beside=("no Docker",)
                ),
            ),
            0,
            [
                "toy: 3 tasks lack data: `groundup data pull toy` brings it",
                "toy: 2 tasks lack Python 3.8 (2): fetch it",
                "toy: 9 tasks lack a JDK: install one",
                "toy: no Docker",
                "groundup: can be graded here: 3 of 9 tasks of toy",
                "groundup: the shortest way to 1 more: `uv python install 3.8`",
            ],
        ),
        (
            (GOOD,),
            (
                Gradable(suite="toy", tasks=3, online=0, offline=0, lacks=(DATA,)),
                Gradable(suite="two", tasks=2, online=0, offline=0, lacks=(PYTHON.but(alone=0),)),
            ),
            3,
            [
                "toy: 3 tasks lack data: `groundup data pull toy` brings it",
                "two: 2 tasks lack Python 3.8 (2): fetch it",
                "groundup: can be graded here: 0 of 3 tasks of toy, 0 of 2 tasks of two",
                "groundup: not ready: no task can be graded here yet; the lines above say what is missing",
                "groundup: the shortest way to up to 3 more: `groundup data pull toy`",
            ],
        ),
        (
            (GOOD, BAD),
            (Gradable(suite="toy", tasks=3, online=3, offline=0, lacks=(DATA,)),),
            3,
            [
                "sandboxes: allow user namespaces",
                "toy: 3 tasks lack data: `groundup data pull toy` brings it",
                "groundup: not ready; see above",
            ],
        ),
    ],
    ids=["ready", "no task", "no sandbox"],
)
def test_a_machine_is_told_in_lines(
    groundup: Groundup,
    monkeypatch: pytest.MonkeyPatch,
    facts: tuple[Fact, ...],
    suites: tuple[Gradable, ...],
    code: int,
    said: list[str],
) -> None:
    """What each suite lacks, what can be graded, and a way whose gain is known before one that may gain more."""

    async def examined(settings: Settings) -> MachineReport:
        return MachineReport(facts=facts, suites=suites)

    monkeypatch.setattr("groundup.cli.doctor._examined", examined)
    ended = groundup("doctor")
    assert (ended.code, ended.err.splitlines()) == (code, said)
    rows = [line.split() for line in ended.out.splitlines()]
    for one in suites:
        assert [one.suite, str(one.tasks), str(one.online), str(one.offline)] in rows
    for fact in facts:
        assert [fact.name, fact.status.value, fact.value] in rows
    document = json.loads(groundup("doctor", "--json").out)
    assert document == {
        "ready": code == 0,
        "facts": [one.model_dump(mode="json") for one in facts],
        "suites": [one.model_dump(mode="json") for one in suites],
    }


@pytest.mark.parametrize(
    ("answers", "value"),
    [
        ((True, True), "answers"),
        ((True, False), "1 of 2 repositories answer"),
        ((False, False), "cannot be reached"),
    ],
)
def test_a_git_host_answers_for_some_repositories_or_all(answers: tuple[bool, ...], value: str) -> None:
    """Those of other hosts say nothing of it."""
    there = {f"github.com/a/{number}": here for number, here in enumerate(answers)}
    host = Host(
        interpreters={},
        repositories={**there, "gitlab.com/a/b": not answers[0]},
        has_mirror=False,
        has_git=True,
        has_java=False,
    )
    fact = _git_host("github.com", host)
    assert (fact.name, fact.value) == ("github.com", value)
    assert fact.status is (FactStatus.GOOD if all(answers) else FactStatus.LIMITED)
