"""Who is to blame for what fails while something handed in is read."""

import errno

import pytest

from groundup.domain.errors import (
    FAULTS_OF_NAMES,
    GroundupError,
    InfrastructureError,
    SubmissionError,
    UsageError,
    reading_submission,
)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ValueError("not a number\nat all"), "ValueError: not a number"),
        (RecursionError("too deep"), "RecursionError: too deep"),
        (MemoryError(), "MemoryError: "),
        (ValueError("x" * 121), f"ValueError: {'x' * 120}"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "/home/me/secret"), "OSError: File name too long"),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory"), "NotADirectoryError: Not a directory"),
    ],
)
def test_the_submission_is_to_blame(error: Exception, says: str) -> None:
    """In one line, without a folder of this machine."""
    with pytest.raises(SubmissionError) as blamed, reading_submission("its setup.py"):
        raise error
    assert str(blamed.value) == f"its setup.py cannot be read: {says}; mend it"
    assert blamed.value.__cause__ is error


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left"),
        PermissionError(errno.EACCES, "Permission denied"),
        UsageError("wrong"),
        InfrastructureError("broken"),
        KeyboardInterrupt(),
    ],
)
def test_others_are_not(error: BaseException) -> None:
    """The disk, groundup, and whoever ends the program."""
    with pytest.raises(type(error)) as raised, reading_submission("its setup.py"):
        raise error
    assert raised.value is error
    assert not isinstance(error, SubmissionError)


def test_names_that_no_disk_takes_are_known() -> None:
    """As the system calls what is wrong with them."""
    names = {errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.EILSEQ}
    assert names == FAULTS_OF_NAMES
    assert issubclass(SubmissionError, GroundupError)
