"""Why a test of the original does not pass here, from what it said; None where only a person can tell."""

import re

from groundup.grading.library.report import Result
from groundup.suites.nl2repobench.recipe import Why

_SIGNS = (
    (
        Why.NETWORK,
        r"name resolution|Name or service not known|Network is unreachable|Max retries exceeded|gaierror|"
        r"NewConnectionError|No route to host|URLError|ConnectError",
    ),
    (Why.DISPLAY, r"\$?DISPLAY\b|no display|Xlib|TclError|xclip|xsel|pbcopy"),
    (Why.SERVICE, r"Connection refused|ConnectionRefusedError|could not connect to server|redis|mysql|postgres"),
    (
        Why.OPTIONAL_DEPENDENCY,
        r"No module named|could not import|ModuleNotFoundError|not installed|is required for",
    ),
    (Why.USER, r"PermissionError|Permission denied|Operation not permitted|\broot\b"),
)


def reason_of(result: Result) -> Why | None:
    """Return what *result* of the original says of itself."""
    for why, signs in _SIGNS:
        if re.search(signs, result.message):
            return why
    return None
