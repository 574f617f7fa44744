"""What is concluded of what was seen of a submission."""

from pathlib import Path

import pytest

from groundup.environments.toolchains import Toolchain
from groundup.grading.services.building import BuiltService
from groundup.grading.services.install import InstalledService, StartCommand
from groundup.grading.services.records import InstallOutcome
from groundup.suites.repogenesis.observing import NOT_READY, Observed
from tests.grading.library.laboratory import NO_ENVIRONMENT

INSTALLED = InstalledService(outcome=InstallOutcome.SUCCEEDED, environment=NO_ENVIRONMENT, seconds=1.0)
START = StartCommand(found="start.sh", argv=("bash", "./start.sh"))
SEEN = Observed(installed=INSTALLED, start=START, readiness=NOT_READY)
DIED = NOT_READY.but(died=True, message="port 80 did not answer HTTP; last words: KeyError: 1")


@pytest.mark.parametrize(
    ("seen", "certain"),
    [
        (SEEN, False),
        (SEEN.but(start=None), True),
        (SEEN.but(readiness=DIED), True),
        (SEEN.but(readiness=DIED.but(message="last words: the request timed out")), False),
        (SEEN.but(readiness=DIED.but(answered_s=3.0)), False),
    ],
)
def test_more_time_mends_nothing_where_nothing_was_waited_for(seen: Observed, certain: bool) -> None:
    """Nothing starts it, or it ended by itself, and not because it waited in vain."""
    assert seen.is_certain is certain


def test_what_an_install_said_can_be_read(tmp_path: Path) -> None:
    """Why it failed and what was not heeded, or what tools printed, within a bound; and what it ran by."""
    noted = SEEN.but(installed=INSTALLED.but(message="no such version", notes=("-i https://x", "--pre")))
    toolchain = Toolchain(name="go", versions={"go": "1.22"})
    built = BuiltService(outcome=InstallOutcome.FAILED, tree=tmp_path, toolchain=toolchain, log=b"x" * 1000)

    assert SEEN.install_logs(100) == {}
    text = b"no such version\nnot heeded: -i https://x\nnot heeded: --pre\n"
    assert noted.install_logs(100) == {"install.txt": text}
    log = SEEN.but(installed=built).install_logs(100)["install.txt"]
    assert (log.count(b"x"), b"cut" in log) == (100, True)
    assert SEEN.tools() == {"python": "3.11.0"}
    assert SEEN.but(installed=built).tools() == {"go": "1.22"}
