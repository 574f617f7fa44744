"""An agent plays an attempt without any run around it; records that pin other data are refused."""

import asyncio
import errno
import platform
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import JsonValue

from groundup.domain.digests import digest_of
from groundup.domain.errors import (
    DiskFullError,
    MachineError,
    NetworkError,
    SubmissionError,
    TaskError,
    UsageError,
)
from groundup.domain.steps import heard_by
from groundup.domain.subjects import Outcome, Provenance, Submission
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Graded, Reason, Score, Stage, Status
from groundup.environments.requests import AnySource, Layer, PythonRequest, SourceRequest
from groundup.episodes.attempt import Grading, Phase, attempted, full_disk_named
from groundup.episodes.backends import Backends, Images
from groundup.episodes.episode import Playing
from groundup.episodes.loading import find_grader, load_grading, suite_pins, task_pins
from groundup.episodes.records import EpisodeResult, MemorySink
from groundup.grading.context import GradingContext
from groundup.models.protocol import BudgetSpentError, RequestRejectedError, UnusableModelError
from groundup.sandbox.rooted import RootedProvider, UnpackedImage
from groundup.settings import Settings
from groundup.store.verdict_cache import VerdictCache, code_digest
from groundup.suites.base import AtHand, ForAgents, Grader, Needs
from groundup.suites.opening import open_suite
from groundup.trees.digest import tree_digest
from groundup.trees.fingerprints import Fingerprint
from tests.episodes.theatre import Builder, Theatre, an_episode
from tests.runs.toy import BEHAVIOUR, ToyGrader, ToySuite
from tests.runs.toy_agent import ToyAgent
from tests.sandbox.fake import FakeProvider


class _Lacking:
    """A grader on a machine without what it needs."""

    def __init__(self, grader: Grader) -> None:
        self._grader = grader

    def __getattr__(self, name: str) -> object:
        return getattr(self._grader, name)

    async def layers(self, task: Task, context: GradingContext) -> Mapping[str, str]:
        """Say what is missing."""
        raise MachineError("Python 3.10 is not on this machine; install it")


async def played(
    theatre: Theatre, sink: MemorySink, grading: Grading | None = None, **options: JsonValue
) -> EpisodeResult:
    """Return what an attempt of the toy agent came to."""
    spec = an_episode()
    grading = grading or theatre.grading(spec)
    playing = Playing(spec, grading, sink, ToyAgent(options))
    return await attempted(grading, playing.make, sink, theatre.scratch, phase=Phase.MAKING)


async def test_an_agent_plays_an_episode(tmp_path: Path) -> None:
    """The result holds submission and verdict; the sink has the steps and the agent's own logs."""
    sink = MemorySink(tmp_path / "tree")
    result = await played(Theatre(tmp_path), sink, first="pass", behaviour="half")
    assert result.graded is not None
    assert result.graded.verdict.score == Score(numerator=1, denominator=2)
    assert result.submission == sink.made()
    assert [step["kind"] for step in sink.steps] == ["began", "note", "told", "workspace", "ended"]
    assert sink.logs == {"agent.log": b"words"}


async def test_an_agent_begins_only_where_its_work_can_be_graded(tmp_path: Path) -> None:
    """A machine that lacks the task's interpreter says so before the agent asks or costs anything."""
    theatre, sink = Theatre(tmp_path), MemorySink(tmp_path / "tree")
    grading = theatre.grading(an_episode())
    lacking = cast(Grader, _Lacking(grading.grader))
    result = await played(theatre, sink, replace(grading, grader=lacking))
    assert result.graded is not None
    assert "Python 3.10 is not on this machine" in result.graded.verdict.reasons[0].message
    assert (result.outcome, result.repeatable, list(sink.steps)) == (Outcome.INFRASTRUCTURE, False, [])


async def test_a_failed_try_is_repeated_from_its_steps(tmp_path: Path) -> None:
    """The second try finds what the first recorded, and its verdict counts; the first is no zero."""
    theatre, sink = Theatre(tmp_path), MemorySink(tmp_path / "tree")
    first = await played(theatre, sink, fault="infrastructure")
    assert (first.outcome, first.submission, first.repeatable) == (Outcome.INFRASTRUCTURE, None, True)
    theatre.scratch = tmp_path / "another"
    theatre.scratch.mkdir()
    second = await played(theatre, sink, fault="infrastructure")
    assert second.outcome is Outcome.SUBMITTED
    assert [step["tries"] for step in sink.steps if step["kind"] == "note"] == [0, 1]


async def test_a_cancelled_agent_hands_nothing_in(tmp_path: Path) -> None:
    """Nothing counts as made, so the next try makes it."""
    sink = MemorySink(tmp_path / "tree")
    task = asyncio.create_task(played(Theatre(tmp_path), sink, fault="sleep"))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sink.made() is None
    assert not sink.submission.exists()


GIVEN_UP = (DiskFullError("full"), BudgetSpentError("spent"), UnusableModelError("no such model"))
FAILED: list[tuple[Exception, Phase, tuple[Status, Stage | None, str, bool]]] = [
    (SubmissionError("a bomb"), Phase.MAKING, (Status.GRADED, Stage.INTAKE, "a bomb", True)),
    (SubmissionError("a\n  b"), Phase.GRADING, (Status.GRADED, Stage.INSTALL, "a b", True)),
    (SubmissionError("x" * 400), Phase.GRADING, (Status.GRADED, Stage.INSTALL, "x" * 400, True)),
    (SubmissionError("x" * 401), Phase.GRADING, (Status.GRADED, Stage.INSTALL, "x" * 397 + "...", True)),
    (TaskError("no recipe"), Phase.GRADING,
     (Status.INFRASTRUCTURE, Stage.ENVIRONMENT, "the task is at fault: no recipe", False)),
    (NetworkError("no route"), Phase.GRADING, (Status.INFRASTRUCTURE, Stage.ENVIRONMENT, "no route", True)),
    (MachineError("no Python"), Phase.MAKING, (Status.INFRASTRUCTURE, Stage.ENVIRONMENT, "no Python", False)),
    (RequestRejectedError("400"), Phase.MAKING, (Status.INFRASTRUCTURE, Stage.ENVIRONMENT, "400", False)),
    (UsageError("wrong"), Phase.GRADING,
     (Status.INFRASTRUCTURE, Stage.ENVIRONMENT, "the grader crashed: UsageError: wrong", False)),
    (KeyError("k\udcff"), Phase.MAKING,
     (Status.INFRASTRUCTURE, Stage.ENVIRONMENT, "the agent crashed: KeyError: 'k\\udcff'", False)),
]  # fmt: skip


@pytest.mark.parametrize(("error", "phase", "ended"), FAILED)
def test_how_an_attempt_ends_by_an_error(
    tmp_path: Path, error: Exception, phase: Phase, ended: tuple[Status, Stage | None, str, bool]
) -> None:
    """A zero for what a submission did, no score for all else, and whether another try may help."""
    graded, again = Theatre(tmp_path).grading(an_episode()).failed(error, phase)
    verdict = graded.verdict
    (reason,) = verdict.reasons
    assert (verdict.status, reason.stage, reason.message, again) == ended
    if verdict.status is Status.INFRASTRUCTURE:
        assert (verdict.score, verdict.cacheable, verdict.grader.environment) == (None, False, "none")
        assert type(error).__name__.encode() in graded.logs["infrastructure.log"]
    else:
        assert verdict.score == Score(numerator=0, denominator=2)


@pytest.mark.parametrize(
    ("error", "phase"),
    [*((one, phase) for one in GIVEN_UP for phase in Phase), (UsageError("unknown agent"), Phase.MAKING)],
)
def test_what_stops_more_than_one_attempt_is_raised(tmp_path: Path, error: Exception, phase: Phase) -> None:
    """It is no verdict."""
    with pytest.raises(type(error)):
        Theatre(tmp_path).grading(an_episode()).failed(error, phase)


def test_other_data_than_pinned_is_refused(tmp_path: Path) -> None:
    """A worker whose data differ says which, instead of giving a verdict on another task."""
    theatre = Theatre(tmp_path)
    grading = theatre.grading(an_episode())
    suite, grader, task = grading.suite, grading.grader, grading.task
    pins = {**suite_pins(suite, grader), **task_pins(suite, grader, task, is_read=True)}
    assert load_grading(an_episode(pinned=pins), grading.backends, theatre.settings).task == task
    with pytest.raises(UsageError, match="other data: task task-0000"):
        theatre.grading(an_episode(pinned={**pins, "task task-0000": "sha256:other"}))


def test_what_agents_are_told_and_lack_is_pinned_for_them_alone() -> None:
    """A submission that somebody brings is graded alike, whatever agents are told today."""
    suite = open_suite("nl2repobench", Settings())
    grader, task = suite.graders()["strict"], next(one for one in suite.tasks() if one.id == "jsonlines")
    read, brought = (task_pins(suite, grader, task, is_read=is_read) for is_read in (True, False))
    assert brought == {"task jsonlines": task.graded_digest, "grader of jsonlines": read["grader of jsonlines"]}
    assert "jsonlines" in read["withheld from jsonlines"]
    assert read["task jsonlines"] == task.digest


@pytest.mark.parametrize(("field", "name"), [("task", "task-1000"), ("grader", "stern"), ("suite", "tays")])
def test_unknown_names_are_refused(tmp_path: Path, field: str, name: str) -> None:
    """With one sentence, before anything is opened."""
    with pytest.raises(UsageError, match=name):
        Theatre(tmp_path).grading(an_episode(**{field: name}))


# --- one try


class Brought:
    """A submission that lies somewhere and is taken in."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.made = 0

    async def make(self, destination: Path, scratch: Path) -> Submission:
        """Write it."""
        self.made += 1
        (destination / BEHAVIOUR).write_text(self.word)
        tree = tree_digest(destination)
        return Submission(**tree._asdict(), outcome=Outcome.LIMIT, provenance=Provenance(source="import"))


async def taken_in(
    theatre: Theatre, sink: MemorySink, brought: Brought, grading: Grading | None = None, **how: Any
) -> EpisodeResult:
    """Return what came of a try, in a scratch folder of its own."""
    theatre.scratch = theatre.scratch.with_name(f"scratch-{len(list(theatre.scratch.parent.iterdir()))}")
    theatre.scratch.mkdir()
    return await attempted(grading or theatre.grading(an_episode()), brought.make, sink, theatre.scratch, **how)


@pytest.mark.parametrize(
    ("how", "steps"),
    [
        ({}, ["taking in", "waiting for a place", "grading"]),
        ({"phase": Phase.MAKING}, ["at work", "waiting for a place", "grading"]),
        ({"phase": Phase.MAKING, "makes_only": True}, ["at work"]),
        ({"makes_only": True}, ["taking in"]),
    ],
)
async def test_a_try_says_where_it_is(tmp_path: Path, how: dict[str, Any], steps: list[str]) -> None:
    """What is only made has no verdict, and nothing is built for its grading."""
    heard: list[str] = []
    theatre, sink = Theatre(tmp_path), MemorySink(tmp_path / "tree")
    with heard_by(heard.append):
        result = await taken_in(theatre, sink, Brought("half"), **how)
    assert [step for step in heard if step in {"taking in", "at work", "waiting for a place", "grading"}] == steps
    assert (result.outcome, result.submission) == (Outcome.LIMIT, sink.made())
    assert (result.graded is None) == ("makes_only" in how)
    assert (theatre.scratch / "prepared").exists() == (how == {"phase": Phase.MAKING})
    assert (result.cached, result.repeatable) == (False, True)


async def test_what_was_made_is_graded_as_it_lies_there(tmp_path: Path) -> None:
    """It is made again where that is asked for, and refused where somebody changed it."""
    theatre, sink, brought = Theatre(tmp_path), MemorySink(tmp_path / "tree"), Brought("half")
    first = await taken_in(theatre, sink, brought)
    assert await taken_in(theatre, sink, brought) == first
    assert brought.made == 1
    brought.word = "pass"
    again = await taken_in(theatre, sink, brought, anew=True)
    assert (brought.made, again.submission) == (2, sink.made())
    assert again.submission != first.submission
    (sink.submission / BEHAVIOUR).write_text("fail")
    changed = await taken_in(theatre, sink, brought)
    assert changed.graded is not None
    assert [reason.message for reason in changed.graded.verdict.reasons] == [
        f"{sink.submission} was changed after it was handed in: its digest is another one; restore it, or remove "
        "the folder that it lies in"
    ]
    assert (changed.repeatable, changed.submission, changed.outcome) == (False, None, Outcome.SUBMITTED)


async def test_an_agent_s_outcome_outlives_a_grading_that_fails(tmp_path: Path) -> None:
    """Only who made nothing for the machine's sake ends as a failure of infrastructure."""
    theatre = Theatre(tmp_path)
    for word, outcome in (("infrastructure", Outcome.LIMIT), ("submission", Outcome.LIMIT)):
        sink = MemorySink(tmp_path / f"tree-{word}")
        result = await taken_in(theatre, sink, Brought(word), phase=Phase.MAKING)
        assert result.graded is not None
        assert (result.outcome, result.submission) == (outcome, sink.made())

    async def refuse(destination: Path, scratch: Path) -> Submission:
        raise SubmissionError("a bomb")

    for phase in (Phase.INTAKE, Phase.MAKING):
        sink, brought = MemorySink(tmp_path / "none"), Brought("")
        brought.make = refuse  # type: ignore[method-assign]
        result = await taken_in(theatre, sink, brought, phase=phase)
        assert (result.outcome, result.submission, sink.submission.exists()) == (Outcome.SUBMITTED, None, False)


@pytest.mark.parametrize(("passed", "score"), [("2", Score(numerator=2, denominator=2)), ("1", None), ("0", None)])
async def test_points_lost_for_want_of_a_registry_are_no_one_s(
    tmp_path: Path, passed: str, score: Score | None
) -> None:
    """A full score counts, whatever could not be fetched."""
    result = await taken_in(Theatre(tmp_path), MemorySink(tmp_path / "tree"), Brought(f"unreached {passed}"))
    assert result.graded is not None
    verdict = result.graded.verdict
    assert verdict.score == score
    assert [reason.message for reason in verdict.reasons] == (
        [] if score else ["points were lost while flask could not be fetched: the index answers with HTTP 503"]
    )


async def test_a_verdict_is_given_once_where_a_cache_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same submission is not graded again; another repetition, time limit or submission is."""
    monkeypatch.setattr(Grading, "code", lambda self: "sha256:0")  # which reads hundreds of files
    theatre, cache = Theatre(tmp_path), VerdictCache(tmp_path / "verdicts", pytest.fail)
    plain = theatre.grading(an_episode())
    for number, (grading, word, cached) in enumerate(
        (
            (replace(plain, cache=cache), "half", False),
            (replace(plain, cache=cache), "half", True),
            (replace(plain, cache=cache, index=1), "half", False),
            (replace(plain, cache=cache, timeout_s=3.0), "half", False),
            (replace(plain, cache=cache), "pass", False),
            (plain, "half", False),
        )
    ):
        result = await taken_in(theatre, MemorySink(tmp_path / f"tree-{number}"), Brought(word), grading)
        assert result.graded is not None
        assert result.graded.verdict.score == Score(numerator=2 if word == "pass" else 1, denominator=2)
        assert result.cached is cached
    assert len((tmp_path / "gradings" / "task-0000").read_text().splitlines()) == 5


async def test_everything_that_decides_is_in_the_key(tmp_path: Path) -> None:
    """Code, too: the grader's, the builder's and the sandbox's."""
    grading = replace(Theatre(tmp_path).grading(an_episode()), timeout_s=4.0, index=3)
    assert await grading.key("sha256:1", tmp_path / "layers") == {
        "submission": "sha256:1",
        "task": grading.task.graded_digest,
        "suite": ["toy", "1"],
        "grader": ["strict", "1", digest_of(grading.grader.identity(grading.task))],
        "code": code_digest("tests.runs.toy", "tests.episodes.theatre"),
        "layers": {"toy": "none"},
        "timeout_s": 4.0,
        "sandbox": {"sandbox": "fake"},
        "architecture": platform.machine(),
        "repetition": 3,
    }


@pytest.mark.parametrize(
    ("needs", "fetched"),
    [
        (Needs(), []),
        (Needs(source=SourceRequest(name="a", version="1", sha256="0" * 64)), ["a"]),
        (Needs(graded=SourceRequest(name="b", version="1", sha256="0" * 64)), ["b"]),
        (
            Needs(
                source=SourceRequest(name="a", version="1", sha256="0" * 64),
                graded=SourceRequest(name="b", version="1", sha256="0" * 64),
            ),
            ["b"],
        ),
    ],
)
async def test_what_grading_takes_is_fetched_before(tmp_path: Path, needs: Needs, fetched: list[str]) -> None:
    """The original as it is graded, else the original."""
    asked: list[str] = []

    class Fetching(Builder):
        async def source(self, request: AnySource) -> Layer:
            assert isinstance(request, SourceRequest)
            asked.append(request.name)
            return Layer(digest="sha256:0", kind="source", path=tmp_path)

    class Needing(ToySuite, AtHand):
        def needs(self, task: Task) -> Needs:
            return needs

    suite = Needing(1)
    backends = Backends(FakeProvider(), Fetching(tmp_path))
    await Grading(suite, suite.tasks()[0], suite.graders()["strict"], backends).prepare(tmp_path / "scratch")
    assert asked == fetched


class Told(ToySuite, ForAgents):
    """Knows of an original and of an image's packages, as it is told."""

    environment: PythonRequest | None = PythonRequest(python="3.12")
    original: Fingerprint | None = Fingerprint(task="task-0000", files={})

    def agent_environment(self, task: Task) -> PythonRequest | None:
        """Return what is installed."""
        return self.environment

    def fingerprint(self, task: Task) -> Fingerprint | None:
        """Return the original's."""
        return self.original

    def withheld(self, task: Task) -> tuple[str, ...]:
        """Return names, in no order."""
        return ("shop", "a-shop")


async def test_agents_have_the_task_s_image_without_its_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is unpacked, and it is known what is installed in it and what must go."""
    image = UnpackedImage(name="hub/shop", digest="sha256:1", root=tmp_path)
    asked: list[tuple[object, ...]] = []

    async def without(
        image: UnpackedImage, original: Fingerprint, names: Collection[str], settings: Settings
    ) -> UnpackedImage:
        asked.append((image, original, names, settings))
        return image.but(digest="sha256:2")

    async def unpacked(name: str, store: object, pinned: str | None) -> UnpackedImage:
        return image

    monkeypatch.setattr("groundup.environments.image_removal.image_for_agents", without)
    monkeypatch.setattr("groundup.environments.images.unpacked", unpacked)
    suite, builder = Told(1), Builder(tmp_path)
    own = Images("hub/shop", {}, unpacked=True)
    backends = Backends(FakeProvider(), builder, images=own, settings=Settings(cache_dir=tmp_path / "cache"))
    monkeypatch.setattr(RootedProvider, "identity", lambda self: {"image": "sha256:1"})
    whole = Grading(suite, suite.tasks()[0], suite.graders()["strict"], backends)
    assert await whole.image_of_agents() == image.but(digest="sha256:2")
    assert asked == [(image, suite.original, ("a-shop", "shop"), backends.settings)]
    for images in (None, Images("hub/shop", {})):
        assert await replace(whole, backends=replace(backends, images=images)).image_of_agents() is None
    suite.original = None
    assert await whole.image_of_agents() is None
    suite.original, suite.environment = Told.original, None
    assert await whole.image_of_agents() is None
    assert len(asked) == 1


def test_a_zero_needs_the_task_s_denominator(tmp_path: Path) -> None:
    """Where the task has none, the task is at fault, and no submission."""

    class Without(ToyGrader):
        def zero(self, task: Task, reason: Reason) -> Graded:
            raise TaskError("no recipe")

    grading = replace(Theatre(tmp_path).grading(an_episode()), grader=Without("strict", "1", None))
    graded, again = grading.failed(SubmissionError("a bomb"), Phase.GRADING)
    assert ([reason.message for reason in graded.verdict.reasons], again) == (
        ["the task is at fault: no recipe"],
        False,
    )


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.ENOSPC, "full", "/a"), "no room left on the disk (/a); free some"),
        (OSError(errno.EDQUOT, "quota", "/a"), "no room left on the disk (/a); free some"),
        (OSError(errno.ENOSPC, "full"), "no room left on the disk (unknown place); free some"),
        (OSError(errno.EACCES, "closed"), "[Errno 13] closed"),
    ],
)
def test_a_full_disk_has_a_name(error: OSError, says: str) -> None:
    """Wherever it is met; other errors of files stay what they are."""
    with pytest.raises((DiskFullError, OSError)) as raised, full_disk_named():
        raise error
    assert str(raised.value) == says
    assert isinstance(raised.value, DiskFullError) == (error.errno != errno.EACCES)


# --- from records to graders


@pytest.mark.parametrize(
    ("name", "found"), [(None, "strict"), ("lax", "lax"), ("strict", "strict"), ("", "strict")]
)
def test_a_grader_is_found_by_name(name: str | None, found: str) -> None:
    """Or it is the suite's own choice."""
    assert find_grader(ToySuite(1), name).name == found


def test_graders_of_earlier_runs_and_such_that_are_not_there() -> None:
    """A retired name stands for its heir; a suite that keeps the name keeps the grader; else a sentence."""

    class Heir(ToySuite):
        names: tuple[str, ...] = ("full", "strict")

        def graders(self) -> dict[str, ToyGrader]:
            return {name: ToyGrader(name, "1", None) for name in self.names}

    suite = Heir(1)
    assert find_grader(suite, "trace").name == "full"
    suite.names = ("full", "strict", "trace")
    assert find_grader(suite, "trace").name == "trace"
    suite.names = ("full", "strict")
    with pytest.raises(UsageError) as refused:
        find_grader(suite, "static")
    assert str(refused.value) == (
        "toy has no grader that only reads submissions; leave out --no-exec, or choose from: full, strict"
    )
    with pytest.raises(UsageError, match="grader 'strikt'"):
        find_grader(suite, "strikt")
    suite.names = ("full",)
    with pytest.raises(UsageError, match="grader 'strict'"):
        find_grader(suite, None)


def test_what_decides_an_attempt_is_pinned() -> None:
    """For who reads the task, with all that is told and kept from agents; for who brings something, less."""

    class Telling(Told):
        told = "By hand."

        def told_of_grading(self, task: Task) -> str:
            return self.told

    suite = Telling(1, written=True)
    (task,), grader = suite.tasks(), suite.graders()["lax"]
    of_grader = {"grader of task-0000": digest_of(grader.identity(task))}
    assert suite_pins(suite, grader) == {
        "suite": "toy 1",
        "grader version": "7",
        "architecture": platform.machine(),
    }
    assert task_pins(suite, grader, task, is_read=False) == {"task task-0000": task.graded_digest, **of_grader}
    assert suite.original is not None
    assert task_pins(suite, grader, task, is_read=True) == {
        "task task-0000": task.digest,
        **of_grader,
        "withheld from task-0000": "a-shop, shop",
        "original of task-0000": suite.original.digest,
        "agent environment of task-0000": digest_of(suite.environment),
        "told of grading of task-0000": digest_of("By hand."),
    }
    assert task.digest != task.graded_digest
    suite.original, suite.environment, suite.told = None, None, ""
    assert task_pins(ToySuite(1), grader, task, is_read=True) == {"task task-0000": task.digest, **of_grader}
    assert task_pins(suite, grader, task, is_read=True).keys() == {
        "task task-0000", *of_grader, "withheld from task-0000"
    }  # fmt: skip
