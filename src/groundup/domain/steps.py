"""Which step an attempt is at: said by whatever works on it, and heard by whoever shows progress."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_HEARD: ContextVar[Callable[[str], None] | None] = ContextVar("heard steps", default=None)
_FILES = 2_000


def at_step(step: str) -> None:
    """Say what is done now, in a few words such as `hidden tests`. From any thread; nobody has to listen."""
    heard = _HEARD.get()
    if heard is not None:
        heard(step)


def counted_files(number: int) -> None:
    """Say how many files of a tree were read, now and then."""
    if number % _FILES == 0:
        at_step(f"{number:,} files read")


@contextmanager
def heard_by(hear: Callable[[str], None]) -> Iterator[None]:
    """Let *hear* have the steps of what is done inside. It must be quick, and may be called from any thread."""
    token = _HEARD.set(hear)
    try:
        yield
    finally:
        _HEARD.reset(token)
