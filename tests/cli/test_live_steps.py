"""What is said of attempts at work."""

from groundup.cli.live_steps import AtWork
from groundup.domain.subjects import AttemptKey
from groundup.runs.progress import AttemptAt, AttemptBegan, RunBegan, Standing

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
