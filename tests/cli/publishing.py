"""A suite with a form of reports of its own."""

import json

from typing_extensions import override

from groundup.settings import Settings
from groundup.suites.base import ForCommands, OwnReport, ReportForm, Results
from tests.runs.toy import ToySuite


class ToyForm(ReportForm):
    """Writes reports, and reads none."""

    name = "toy"

    @override
    def write(self, results: Results) -> OwnReport:
        """Return the scores by task."""
        scores = {
            one.key.task: one.verdict and one.verdict.score and one.verdict.score.value for one in results.attempts
        }
        document = {"subject": results.subject.agent, "scores": scores}
        table = f"{len(scores)} tasks in {'some' if results.seconds else 'no'} time"
        return OwnReport(document=json.dumps(document).encode(), table=table, notes=("nothing is left out",))

    @override
    def read(self, document: bytes, name: str) -> Results | None:
        """Recognise nothing."""
        return None


class PublishingSuite(ToySuite, ForCommands):
    """A suite with that form."""

    @override
    def report_form(self) -> ReportForm:
        """Return it."""
        return ToyForm()


def create(settings: Settings) -> PublishingSuite:
    """Return two tasks."""
    return PublishingSuite(2)
