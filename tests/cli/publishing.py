"""A suite with a form of reports of its own."""

import json

from groundup.settings import Settings
from groundup.suites.base import OwnReport, Results
from tests.runs.toy import ToySuite


class PublishingSuite(ToySuite):
    """Writes reports, and reads none."""

    report_format = "toy"

    def write_report(self, results: Results) -> OwnReport:
        """Return the scores by task."""
        scores = {
            one.key.task: one.verdict and one.verdict.score and one.verdict.score.value for one in results.attempts
        }
        document = {"subject": results.subject.agent, "scores": scores}
        table = f"{len(scores)} tasks in {'some' if results.seconds else 'no'} time"
        return OwnReport(document=json.dumps(document).encode(), table=table, notes=("nothing is left out",))

    def read_report(self, document: bytes, name: str) -> Results | None:
        """Recognise nothing."""
        return None


def create(settings: Settings) -> PublishingSuite:
    """Return two tasks."""
    return PublishingSuite(2)
