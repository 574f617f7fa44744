"""Agents that answer once: what they ask, what they write, and how they end."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.agents import oneshot
from groundup.agents.answers import fenced
from groundup.domain.subjects import Outcome
from groundup.domain.tasks import SeedFile
from groundup.models.protocol import ContextOverflowError, ModelError, RefusedError
from tests.agents.fakes import FakeModel, Memory, a_task, agent_context, says


def written(root: Path) -> Mapping[str, str]:
    """Return the workspace's files."""
    workspace = root / "workspace"
    return {
        path.relative_to(workspace).as_posix(): path.read_text() for path in workspace.rglob("*") if path.is_file()
    }


async def test_oneshot_writes_all_files_of_the_reply(tmp_path: Path) -> None:
    """One request; every file of its reply lies in the workspace."""
    model = FakeModel([says(f"Here.\n{fenced('a/b.py', 'x')}\n{fenced('start.sh', 'y')}")])
    ended = await oneshot.create({}).attempt(agent_context(tmp_path, model))
    assert written(tmp_path) == {"a/b.py": "x\n", "start.sh": "y\n"}
    assert (ended.outcome, ended.turns, ended.detail) == (Outcome.SUBMITTED, 1, "")
    assert model.requests[0].messages[-1].content == "Write it."


async def test_oneshot_shows_seeds(tmp_path: Path) -> None:
    """Files that are there already are part of the question, but for the instruction itself."""
    seeds = (SeedFile(path="README.md", content=b"Write it."), SeedFile(path="pom.xml", content=b"<project/>"))
    model = FakeModel([says("no files")])
    ended = await oneshot.create({}).attempt(agent_context(tmp_path, model, task=a_task(seeds=seeds)))
    question = model.requests[0].messages[-1].content
    assert question.count("Write it.") == 1
    assert fenced("pom.xml", "<project/>") in question
    assert ended.outcome is Outcome.FORMAT
    assert ended.detail == "the reply holds no file that can be read: it is prose"


async def test_a_reply_that_was_cut_off_is_a_limit(tmp_path: Path) -> None:
    """The whole files of it count, and the outcome says what happened."""
    model = FakeModel([says(f"{fenced('a.py', 'x')}```path=b.py\nhal", finish="length")])
    ended = await oneshot.create({}).attempt(agent_context(tmp_path, model))
    assert written(tmp_path) == {"a.py": "x\n"}
    assert (ended.outcome, ended.detail) == (Outcome.LIMIT, "the reply was cut off after 10 tokens")


async def test_a_question_that_does_not_fit_is_not_asked(tmp_path: Path) -> None:
    """Tokens are counted before: the outcome is named and nothing is paid."""
    model = FakeModel([], window=1000)
    task = a_task(instruction="word " * 2000)
    ended = await oneshot.create({}).attempt(agent_context(tmp_path, model, task=task))
    assert (ended.outcome, ended.turns) == (Outcome.LIMIT, 0)
    assert ended.detail.startswith("impossible: ")
    assert model.requests == []


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(ContextOverflowError("long"), Outcome.LIMIT), (RefusedError("no"), Outcome.REFUSED)],
)
async def test_what_the_endpoint_says_is_an_outcome(tmp_path: Path, error: Exception, outcome: Outcome) -> None:
    """A window that no one knew of, and a refusal."""
    ended = await oneshot.create({}).attempt(agent_context(tmp_path, FakeModel([error])))
    assert ended.outcome is outcome


async def test_a_failing_endpoint_is_raised(tmp_path: Path) -> None:
    """It is the run's to repeat."""
    with pytest.raises(ModelError):
        await oneshot.create({}).attempt(agent_context(tmp_path, FakeModel([ModelError("down")])))


async def test_an_answered_question_is_not_asked_again(tmp_path: Path) -> None:
    """A try that was killed after the reply writes the same files without asking."""
    memory = Memory()
    reply = says(fenced("a.py", "x"))
    first = await oneshot.create({}).attempt(agent_context(tmp_path / "1", FakeModel([reply]), trajectory=memory))
    rest = Memory(step for step in memory.steps if step["kind"] != "files")
    again = await oneshot.create({}).attempt(agent_context(tmp_path / "2", FakeModel([]), trajectory=rest))
    assert again == first
    assert written(tmp_path / "2") == {"a.py": "x\n"}


async def test_a_filtered_reply_is_refused_in_each_try(tmp_path: Path) -> None:
    """A try that finds it on record ends as the first one did, though it holds a file."""
    memory = Memory()
    reply = says(fenced("a.py", "x"), finish="content_filter")
    first = await oneshot.create({}).attempt(agent_context(tmp_path / "1", FakeModel([reply]), trajectory=memory))
    again = await oneshot.create({}).attempt(
        agent_context(tmp_path / "2", FakeModel([]), trajectory=memory.resumed())
    )
    assert first.outcome is Outcome.REFUSED
    assert again == first
    assert written(tmp_path / "2") == {}
