"""Official grading: the published numbers for the same services, faults included, in real sandboxes."""

import pytest

from groundup.grading.services.records import Lifecycle
from groundup.suites.base import Graded
from groundup.suites.repogenesis.official_rules import (
    NO_MARKERS,
    LogCounts,
    read_counts,
    read_deployment,
    read_surefire_counts,
)
from tests.suites.repogenesis.trials import (
    CONTAINED,
    DAEMON,
    HONEST,
    LIFECYCLE,
    NOT_FOUND,
    OVERWRITER,
    PRINTER,
    SLEEPER,
    Trial,
    passed,
    share,
)


def numbers(graded: Graded) -> tuple[bool, float]:
    """Return the published deployment success and Pass@1."""
    facts = graded.verdict.facts
    assert isinstance(facts["dsr_success"], bool)
    assert isinstance(facts["pass_at_1"], float)
    return facts["dsr_success"], facts["pass_at_1"]


@pytest.mark.end_to_end
async def test_an_honest_service_gets_everything(trial: Trial) -> None:
    """Deployed and all tests passed, as strict says."""
    graded = await trial.official({"app.py": HONEST})

    assert numbers(graded) == (True, 1.0)
    assert passed(graded) == 4
    assert graded.verdict.grader.environment == "rebuilt"
    assert b">>>>> TEST_END" in graded.logs["container.txt"]


@pytest.mark.end_to_end
async def test_a_service_may_do_what_it_does_in_the_published_container(trial: Trial) -> None:
    """It is root and writes beside its folder; `nc` is there, and what the published image lacks is not."""
    graded = await trial.official(CONTAINED)

    assert numbers(graded) == (True, 1.0), graded.logs


@pytest.mark.end_to_end
async def test_a_daemon_is_not_deployed_and_passes_all_tests(trial: Trial) -> None:
    """A published fault: the process that was started must live."""
    assert numbers(await trial.official(DAEMON)) == (False, 1.0)


@pytest.mark.end_to_end
async def test_the_words_of_a_service_that_dies_are_reported(trial: Trial) -> None:
    """The reason holds what the service said last, and nothing of what the published steps say."""
    graded = await trial.official({"start.sh": "echo 'mkdir: Read-only file system' >&2; exit 3\n"})

    assert numbers(graded)[0] is False
    assert graded.verdict.reasons[0].message.endswith("last words: mkdir: Read-only file system")


@pytest.mark.end_to_end
async def test_a_process_that_merely_lives_is_deployed(trial: Trial) -> None:
    """A published fault: `sleep 3600` counts as deployed. That its tests found nothing was decided by time."""
    short = {"ready_s": 2.0, "tests_s": 10.0}
    graded = await trial.official(SLEEPER, trial_lifecycle(short))

    assert numbers(graded)[0] is True
    assert (graded.verdict.by_time, graded.verdict.cacheable) == (True, False)


@pytest.mark.end_to_end
async def test_skipped_tests_leave_the_denominator(trial: Trial) -> None:
    """A published fault: a server that answers 404 to everything has an undefined share, reported as 0."""
    graded = await trial.official({"app.py": NOT_FOUND})

    assert numbers(graded) == (True, 0.0)
    assert graded.verdict.score is not None
    assert graded.verdict.score.value is None


@pytest.mark.end_to_end
async def test_printed_markers_are_believed(trial: Trial) -> None:
    """A published fault: a start script that prints the markers scores everything."""
    short = {"ready_s": 2.0, "tests_s": 10.0}

    assert numbers(await trial.official(PRINTER, trial_lifecycle(short))) == (True, 1.0)


@pytest.mark.end_to_end
async def test_a_service_can_rewrite_the_tests(trial: Trial) -> None:
    """A published fault: what is in the folder of tests when pytest starts is what counts."""
    graded = await trial.official(OVERWRITER)

    assert numbers(graded) == (True, 1.0)
    assert passed(graded) != 4


@pytest.mark.end_to_end
async def test_nothing_is_not_deployed(trial: Trial) -> None:
    """An empty repository has no entry point; its skipped or failing tests are counted as printed."""
    graded = await trial.official({})

    assert numbers(graded) == (False, 0.0)
    assert graded.verdict.facts["dsr_message"] == "No service entry point found"
    assert share(graded, "deployed") == 0


def trial_lifecycle(changes: dict[str, float]) -> Lifecycle:
    """Return the trials' settings with *changes*."""
    return LIFECYCLE.but(**changes)


def test_the_last_count_of_each_kind_wins() -> None:
    """Any line of the section that looks like a count is one, also a service's own."""
    log = ">>>>> TEST_START\n3 passed, 1 failed in 2s\nINFO 2 failed login\n>>>>> TEST_END\n9 passed"

    assert read_counts(log) == LogCounts(passed=3, failed=2)
    assert read_counts(log).rate == 0.6


def test_surefire_lines_are_added_up_so_every_test_counts_twice() -> None:
    """A line per class and one for all of them, as published; skipped tests are part of the total."""
    log = (
        ">>>>> TEST_START\n"
        "[INFO] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1, Time elapsed: 1 s - in A\n"
        "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1\n"
        ">>>>> TEST_END\n"
    )
    counts = read_surefire_counts(log)
    assert (counts.passed, counts.failed, counts.errors, counts.total) == (2, 2, 0, 6)
    assert read_surefire_counts("BUILD FAILURE: COMPILATION ERROR").total == 0


def test_without_markers_the_whole_log_is_read() -> None:
    """A container that dies early is graded by whatever it printed."""
    assert read_counts("5 passed, 1 error") == LogCounts(passed=5, errors=1)
    assert read_counts(f"{'1' * 5000} passed").rate == 1
    assert read_deployment("DSR_RESULT=true").message == NO_MARKERS


def test_nothing_counted_is_a_rate_of_zero() -> None:
    """0/0 is reported as 0 and left out of averages."""
    assert LogCounts().rate == 0.0


def test_the_first_section_wins_and_its_last_lines() -> None:
    """The first end marker decides, also one that the submission prints."""
    log = ">>>>> DSR_START\nDSR_RESULT=false\nDSR_RESULT=yes\nDSR_MESSAGE=a=b\n>>>>> DSR_END\nDSR_RESULT=false"

    deployed = read_deployment(log)
    assert (deployed.success, deployed.message) == (True, "a=b")
