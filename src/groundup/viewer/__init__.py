"""Runs in a browser: pages made on this machine from run folders, which stay the truth."""

from importlib.util import find_spec

from groundup.domain.errors import MissingExtraError


def check_installed() -> None:
    """Raise `MissingExtraError` where the packages are not installed that pages need."""
    if any(find_spec(name) is None for name in ("starlette", "uvicorn", "jinja2")):
        raise MissingExtraError("the viewer needs more packages; install them with pip install 'groundup[view]'")
