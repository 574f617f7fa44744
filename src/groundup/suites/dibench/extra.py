"""The packages that only this suite needs, an extra of the installation."""

from importlib.util import find_spec

from groundup.domain.errors import MissingExtraError


def require_extra() -> None:
    """Raise `MissingExtraError` where what reads setup.py is not installed; act comes and goes with it."""
    if find_spec("libcst") is None:
        raise MissingExtraError("DI-Bench needs libcst and act; install them with pip install 'groundup[dibench]'")
