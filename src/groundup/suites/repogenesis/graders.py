"""The graders of RepoGenesis, by name."""

from collections.abc import Mapping

from groundup.settings import Settings
from groundup.suites.protocol import Grader
from groundup.suites.repogenesis.data import Problem


def all_graders(problems: Mapping[str, Problem], settings: Settings) -> Mapping[str, Grader]:
    """Return the graders over *problems*, by name."""
    del problems, settings
    return {}
