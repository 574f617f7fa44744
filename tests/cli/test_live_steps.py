"""What is said of attempts at work."""

from groundup.cli.live_steps import AtWork
from groundup.domain.subjects import AttemptKey, Provenance, Submission
from groundup.runs.progress import (
    AttemptAt,
    AttemptBegan,
    AttemptEnded,
    AttemptMade,
    RunBegan,
    RunEnded,
    Standing,
)
from tests.runs.test_progress import line

STANDING = Standing(total=9, settled=0, running=0)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


def begun(task: str) -> AttemptBegan:
    """Return that the attempt at *task* began."""
    return AttemptBegan(attempt=AttemptKey(task=task), standing=STANDING)


def at(task: str, step: str) -> AttemptAt:
    """Return that the attempt at *task* is at *step*."""
    return AttemptAt(attempt=AttemptKey(task=task), step=step)


def test_each_attempt_at_work_has_its_step_and_seconds() -> None:
    """The one that is at its step for longest comes first; of many the others are counted."""
    clock = Clock()
    work = AtWork(clock)
    work.hear(RunBegan(run_id="r", folder="r", standing=STANDING))
    for task in ("a", "b"):
        work.hear(begun(task))
    clock.now_s = 5
    work.hear(at("a", "hidden tests"))
    clock.now_s = 12
    assert work.words() == "b/0: beginning, 12 s; a/0: hidden tests, 7 s"
    for task in ("c", "d", "e"):
        work.hear(begun(task))
    assert work.words().endswith("; c/0: beginning, 0 s; 2 more")


def test_files_are_counted_as_one_step() -> None:
    """A large tree is read for a while: its seconds go on while the count grows."""
    clock = Clock()
    work = AtWork(clock)
    work.prepare("2,000 files read")
    clock.now_s = 3
    work.prepare("4,000 files read")
    assert work.words() == "4,000 files read, 3 s"
    work.hear(RunBegan(run_id="r", folder="r", standing=STANDING))
    assert not work.words()
    work.hear(begun("a"))
    work.hear(at("a", "2,000 files read"))
    clock.now_s = 8
    work.hear(at("a", "4,000 files read"))
    assert work.words() == "a/0: 4,000 files read, 5 s"


def test_what_ended_is_no_longer_at_work() -> None:
    """Be it made or graded; an attempt that is not at work has no step, and nothing is done after the end."""
    clock = Clock()
    work = AtWork(clock)
    assert work.words() == "looking at what there is to do, 0 s"
    work.hear(RunBegan(run_id="r", folder="r", standing=STANDING))
    work.prepare("too late")
    work.hear(at("z", "never began"))
    assert work.words() == ""
    for task in ("a", "b", "c"):
        work.hear(begun(task))
    assert work.words() == "a/0: beginning, 0 s; b/0: beginning, 0 s; c/0: beginning, 0 s"
    made = Submission(digest="sha256:" + "1" * 64, files=1, bytes=1, provenance=Provenance(source="agent"))
    work.hear(AttemptMade(attempt=AttemptKey(task="a"), submission=made, standing=STANDING))
    work.hear(AttemptEnded(line=line("b", 4), again=True, standing=STANDING))
    clock.now_s = 1.6
    assert work.words() == "c/0: beginning, 2 s"
    work.hear(AttemptEnded(line=line("c", None), again=False, standing=STANDING))
    work.hear(RunEnded(standing=STANDING, interrupted=False))
    assert work.words() == ""
