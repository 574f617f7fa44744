"""Where things lie inside the two sandboxes of a job, and how act's paths become the steps' paths."""

import posixpath
import re

from groundup.sandbox.protocol import WORKSPACE

ACT_CACHE = f"{WORKSPACE}/groundup-act-cache"
"""In act's sandbox: act makes `<hex>/{hostexecutor,act,tmp}` below for each job."""
_FILES = f"{WORKSPACE}/.runner"
"""In the steps' sandbox: what a runner keeps beside the repository."""
TEMPORARY = f"{_FILES}/temp"
TOOLS = f"{_FILES}/tools"
FOLDER_VARIABLE = "GROUNDUP_CI_FOLDER"
"""Names a step's working directory, relative to the repository."""
SUPPLIES = "/opt/groundup-ci"
"""In the steps' sandbox: programs of ours that stub actions call."""
_PLACE = re.compile(
    rf"{re.escape(ACT_CACHE)}/(?:tool_cache|([0-9a-f]{{16}})(?:/(hostexecutor|tmp|act))?)(?=[/\W]|$)"
)


def checkout(repository: str) -> str:
    """Return where the repository lies in the steps' sandbox."""
    return f"{WORKSPACE}/{repository}"


def translated(text: str, repository: str) -> str:
    """Return *text* with act's paths as they are in the steps' sandbox."""
    inside = {"hostexecutor": checkout(repository), "tmp": TEMPORARY, "act": f"{_FILES}/act", None: _FILES}
    return _PLACE.sub(lambda match: TOOLS if match[1] is None else inside[match[2]], text)


def job_of(path: str) -> str | None:
    """Return which of act's jobs *path* belongs to: the random name of its folder."""
    match = _PLACE.search(posixpath.normpath(path))
    return match[1] if match else None
