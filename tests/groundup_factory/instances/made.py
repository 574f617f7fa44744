"""Where the tests of made repositories run."""

from groundup_factory.instances.locating import JobCandidate, Located, locate
from tests.workflows.made import MadeTree


def located(workflow: str, **files: str) -> Located:
    """Locate in a repository of one workflow and *files*, whose names have `__` for `/` and `_dot_` for `.`."""
    named = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    return locate(MadeTree({".github/workflows/ci.yml": workflow, **named}))


def best(workflow: str, **files: str) -> JobCandidate:
    """Return the best candidate, which there must be."""
    found = located(workflow, **files).best
    assert found is not None
    return found
