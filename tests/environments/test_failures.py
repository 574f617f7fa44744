"""Tests of groundup.environments.failures: who is to blame for what."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.domain.errors import DiskFullError, NetworkError, SandboxError, SubmissionError, TaskError
from groundup.environments.failures import Failure, Kind, as_error, classify, condensed
from groundup.gateways.records import Trouble
from groundup.sandbox.protocol import CommandResult, Ending

ROOM = 10**12
REFUSED = Trouble(kind="refused", name="demo", message="the task forbids to install 'demo'")
UNREACHABLE = Trouble(kind="network", name="demo", message="it cannot be reached")


def result(text: str = "", ending: Ending = Ending.EXITED) -> CommandResult:
    """Return how a build ended."""
    return CommandResult(exit_code=1, ending=ending, stdout=b"", stderr=text.encode(), duration_s=1.0)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "error: No solution found\n  cause: Because absent was not found in the package registry",
            Kind.UNKNOWN,
        ),
        ("error: No solution found\n  cause: Because there is no version of six==1.99.0", Kind.UNKNOWN),
        ("error: No solution found\n  cause: Because a==1 depends on b<1 and b>=1", Kind.CONFLICT),
        ("error: Failed to download `six==1.16.0`\n  cause: Hash mismatch for `six==1.16.0`", Kind.HASH),
        ("error: Failed to download and build `x==1`\n  cause: The build backend returned an error", Kind.BUILD),
        ("error: Failed to build `x`\n  cause: Failed to download `y`\n  cause: Hash mismatch for `y`", Kind.HASH),
        ("Segmentation fault", Kind.BUILD),
        ("", Kind.BUILD),
    ],
)
def test_what_uv_says_is_understood(text: str, kind: Kind) -> None:
    """Unknown names, conflicts, hashes and builds are told apart by uv's own words."""
    assert classify(result(text), (), waiting_s=1.0, host_free_bytes=ROOM).kind is kind


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (Ending.TIMEOUT, Kind.TIMEOUT),
        (Ending.WALL_CLOCK, Kind.TIMEOUT),
        (Ending.MEMORY, Kind.MEMORY),
        (Ending.PROCESSES, Kind.MEMORY),
        (Ending.DISK, Kind.DISK),
        (Ending.SANDBOX_DIED, Kind.SANDBOX),
    ],
)
def test_limits_are_told_whatever_was_printed(ending: Ending, kind: Kind) -> None:
    """How the command ended counts more than its words, which the built code can forge."""
    forged = result("error: No solution found: was not found in the package registry", ending)
    assert classify(forged, (), waiting_s=1.0, host_free_bytes=ROOM).kind is kind


def test_a_build_that_waits_for_the_index_is_not_slow_itself() -> None:
    """A timeout while the registry owes an answer is the network's."""
    assert classify(result(ending=Ending.TIMEOUT), (), waiting_s=60.0, host_free_bytes=ROOM).kind is Kind.NETWORK


def test_what_the_gateway_knows_counts_more_than_what_was_printed() -> None:
    """The gateway's record comes from outside the sandbox; of two records the network's explains the other."""
    assert classify(result("x"), [REFUSED], waiting_s=1.0, host_free_bytes=ROOM) == Failure(
        kind=Kind.REFUSED, message=REFUSED.message
    )
    assert classify(result("x"), [REFUSED, UNREACHABLE], waiting_s=1.0, host_free_bytes=ROOM).kind is Kind.NETWORK


def test_a_full_host_disk_is_infrastructure() -> None:
    """No submission is blamed for the machine's disk."""
    assert (
        classify(result("No space left on device"), (), waiting_s=1.0, host_free_bytes=1000).kind is Kind.HOST_DISK
    )


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_one_to_blame(kind: Kind) -> None:
    """Infrastructure stays infrastructure whoever asked; the rest is the asker's; each text names the log."""
    infrastructure = {Kind.NETWORK: NetworkError, Kind.HOST_DISK: DiskFullError, Kind.SANDBOX: SandboxError}
    failure = Failure(kind=kind, message="it went wrong")
    for asker, own in (("recipe", TaskError), ("submission", SubmissionError)):
        error = as_error(failure, "recipe" if asker == "recipe" else "submission", "the build", Path("/x/y.log"))
        assert type(error) is infrastructure.get(kind, own)
        assert "/x/y.log" in str(error)


@given(st.text(max_size=2000))
def test_condensed_text_is_one_short_printable_line(text: str) -> None:
    """Whatever a build prints, the sentence stays a sentence."""
    line = condensed(text)
    assert len(line) <= 300
    assert line.isprintable()
