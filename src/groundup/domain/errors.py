"""Errors named by the boundary that failed, and so by who is to blame.

Every text is one sentence on what happened and what to do next. `cli/main.py` is the one place that
maps them to exit codes.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager


class GroundupError(Exception):
    """Base of all errors that groundup raises on purpose."""


class UsageError(GroundupError):
    """Bad input or a bad request: the caller can mend it (exit code 2)."""


class MissingExtraError(UsageError):
    """What was asked for needs an extra that is not installed; the text has the command that installs it."""


class TaskError(GroundupError):
    """A task, its recipe or its oracle is at fault; never the submission."""


class SubmissionError(GroundupError):
    """What was handed in is at fault; it is graded as such, never as an infrastructure failure."""


FAULTS_OF_NAMES = frozenset(
    {errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.EILSEQ}
)
"""What the system says of names that somebody chose; other errors are those of the disk."""


@contextmanager
def reading_submission(what: str) -> Iterator[None]:
    """Blame the submission for whatever fails while *what* of it is read, recursion and memory included.

    Errors that name who is to blame pass, and so do those of the disk; not those of names that no disk takes.
    """
    try:
        yield
    except GroundupError:
        raise
    except Exception as error:  # parsers raise anything for what no person would write by hand
        if isinstance(error, OSError) and error.errno not in FAULTS_OF_NAMES:
            raise
        # What the system says would name a folder of this machine, in a verdict that others read.
        said = error.strerror or "" if isinstance(error, OSError) else str(error)
        reason = said.partition("\n")[0][:120]
        raise SubmissionError(f"{what} cannot be read: {type(error).__name__}: {reason}; mend it") from error


class InfrastructureError(GroundupError):
    """The machine, the network or a tool failed; the attempt has no score and can be repeated (exit code 3)."""


class MachineError(InfrastructureError):
    """This machine lacks something that trying again does not bring; somebody has to mend it first."""


class SandboxError(InfrastructureError):
    """A sandbox could not be opened, or died for a reason of its own."""


class NoSandboxesError(SandboxError, MachineError):
    """No sandbox can be opened on this machine."""


class NetworkError(InfrastructureError):
    """A registry could not be reached or answered with a failure of its own."""


class DiskFullError(InfrastructureError):
    """The host's disk has no room."""
