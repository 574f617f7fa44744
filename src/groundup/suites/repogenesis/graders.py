"""The graders of RepoGenesis, by name."""

from collections.abc import Mapping

from groundup.settings import Settings
from groundup.suites.protocol import Grader
from groundup.suites.repogenesis.data import Problem
from groundup.suites.repogenesis.legacy_grader import LegacyGrader
from groundup.suites.repogenesis.locked import java_lifecycle, lifecycle
from groundup.suites.repogenesis.official import OfficialGrader
from groundup.suites.repogenesis.static import StaticGrader
from groundup.suites.repogenesis.strict import StrictGrader


def all_graders(problems: Mapping[str, Problem], settings: Settings) -> Mapping[str, Grader]:
    """Return the graders over *problems*, by name."""
    del settings
    return {
        StrictGrader.name: StrictGrader(problems, lifecycle(), java_lifecycle()),
        OfficialGrader.name: OfficialGrader(problems, lifecycle(), java_lifecycle()),
        LegacyGrader.name: LegacyGrader(problems, lifecycle(), java_lifecycle()),
        StaticGrader.name: StaticGrader(problems),
    }
