"""Tests of groundup.environments.failures: who is to blame for what."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.domain.errors import DiskFullError, NetworkError, SandboxError, SubmissionError, TaskError
from groundup.environments.failures import (
    TRIES,
    Asker,
    BuildFailure,
    BuildFailureKind,
    Builds,
    LostConnectionError,
    OutOfTimeError,
    StarvedError,
    WorkTime,
    as_error,
    classify,
    condensed,
    failure_repeated,
    out_of_time,
    repeated,
    telling_line,
)
from groundup.environments.requests import Layer
from groundup.registries.ledger import Trouble
from groundup.sandbox.protocol import CommandResult, Ending

ROOM = 10**12
REFUSED = Trouble(kind="refused", name="demo", message="the task forbids installing 'demo'")
UNREACHABLE = Trouble(kind="network", name="demo", message="it cannot be reached")


def result(text: str = "", ending: Ending = Ending.EXITED) -> CommandResult:
    """Return how a build ended."""
    return CommandResult(exit_code=1, ending=ending, stdout=b"", stderr=text.encode(), duration_s=1.0)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "error: No solution found\n  cause: Because absent was not found in the package registry",
            BuildFailureKind.UNKNOWN,
        ),
        (
            "error: No solution found\n  cause: Because there is no version of six==1.99.0",
            BuildFailureKind.UNKNOWN,
        ),
        ("error: No solution found\n  cause: Because a==1 depends on b<1 and b>=1", BuildFailureKind.CONFLICT),
        (
            "error: Failed to download `six==1.16.0`\n  cause: Hash mismatch for `six==1.16.0`",
            BuildFailureKind.HASH,
        ),
        (
            "error: Failed to download and build `x==1`\n  cause: The build backend returned an error",
            BuildFailureKind.BUILD,
        ),
        (
            "error: Failed to build `x`\n  cause: Failed to download `y`\n  cause: Hash mismatch for `y`",
            BuildFailureKind.HASH,
        ),
        ("Segmentation fault", BuildFailureKind.BUILD),
        ("", BuildFailureKind.BUILD),
    ],
)
def test_what_uv_says_is_understood(text: str, kind: BuildFailureKind) -> None:
    """Unknown names, conflicts, hashes and builds are distinguished by uv's own words."""
    assert classify(result(text), (), waiting_s=1.0, host_free_bytes=ROOM).kind is kind


_BACKEND = (
    "error: Failed to build `x==1`\n  cause: The build backend returned an error\n"
    "  cause: Call to `setuptools.build_meta:__legacy__.build_wheel` failed (exit status: 1)\n\n"
)


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (
            "[stderr]\nThe 'x' package is deprecated, use 'y'\nrather than 'x'.\n- to avoid this error\n",
            "The 'x' pa",
        ),
        (
            '[stderr]\nTraceback (most recent call last):\n  File "<string>", line 14, in f\n'
            "ModuleNotFoundError: No module named 'numpy'\n",
            "ModuleNotFoundError: No module named 'numpy'",
        ),
        (
            "[stdout]\nrunning build_ext\n[stderr]\nx.c:1:10: fatal error: Python.h: No such file or directory\n"
            "compilation terminated.\nerror: command '/usr/bin/gcc' failed with exit code 1\n",
            "x.c:1:10: fatal error: Python.h",
        ),
        (
            "[stderr]\nError: pg_config executable not found.\n\npg_config is required\n",
            "Error: pg_config executable",
        ),
    ],
)
def test_why_a_build_failed_comes_first(printed: str, told: str) -> None:
    """Behind the package's name stands what its own build says; uv's words around it tell nothing."""
    text = _BACKEND + printed + "\nhint: Build failures usually indicate a problem with the package\n"
    failure = classify(result(text), (), waiting_s=1.0, host_free_bytes=ROOM)

    assert failure.kind is BuildFailureKind.BUILD
    assert failure.message.startswith(f"Failed to build `x==1`: {told}")


LOST = (
    "error: Failed to fetch: `http://127.0.0.1:29101/simple/six/`\n  cause: client error (SendRequest)\n"
    "  cause: connection closed before message completed",
    "error: Failed to download `six==1.16.0`\n  cause: Failed to fetch: `http://127.0.0.1:29101/files/0/six.whl`\n"
    "  cause: Connection reset by peer (os error 104)",
    "ERROR: Exception: urllib3.exceptions.ReadTimeoutError: HTTPConnectionPool: Read timed out. "
    "http://127.0.0.1:29101/simple/six/",
    "npm ERR! code ECONNRESET\nnpm ERR! network request to http://127.0.0.1:29102/left-pad failed",
    "warning: spurious network error\nerror: failed to get `serde` from http://127.0.0.1:29103/index/",
    "[ERROR] Could not transfer artifact a:b:jar:1 from/to groundup (http://127.0.0.1:29105/maven/): "
    "Premature end of Content-Length delimited message body",
    "error: Failed to build `x`\n  cause: Failed to fetch: `http://127.0.0.1:29101/simple/y/`\n  cause: operation "
    "timed out",
    "error NU1301: Unable to load the service index for source http://127.0.0.1:29104/v3/index.json.",
)


@pytest.mark.parametrize("text", LOST)
def test_a_connection_to_our_own_gateway_that_was_lost_is_known(text: str) -> None:
    """What every installer says of a reset, an early end or a silence of our gateway is no build error."""
    assert classify(result(text), (), waiting_s=1.0, host_free_bytes=ROOM).kind is BuildFailureKind.LOST


@pytest.mark.parametrize(
    "text",
    [
        "thread 'main2' (9) panicked at src/compile.rs:132:14:\nFailed to start compilation worker: "
        'Os { code: 11, kind: WouldBlock, message: "Resource temporarily unavailable" }',
        "bash: fork: retry: Resource temporarily unavailable",
        "error: Failed to build `x`\n  cause: RuntimeError: can't start new thread",
        "java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory or process limits",
        "error: failed to open file: Too many open files in system (os error 23)",
    ],
)
def test_a_machine_without_processes_is_no_build_error(text: str) -> None:
    """What a build says that could start no process or thread, though it did not reach a limit of its own."""
    assert classify(result(text), (), waiting_s=1.0, host_free_bytes=ROOM).kind is BuildFailureKind.STARVED
    ended = result(text, Ending.PROCESSES)
    assert classify(ended, (), waiting_s=1.0, host_free_bytes=ROOM).kind is BuildFailureKind.MEMORY


@pytest.mark.parametrize(
    "text",
    [
        "error: Failed to fetch: `http://127.0.0.1:29101/simple/x/`\n  cause: HTTP status client error (404)",
        "error: Failed to build `x`\n  cause: https://example.com/model.bin: Connection refused",
    ],
)
def test_what_the_gateway_answered_or_never_heard_is_not_lost(text: str) -> None:
    """A name that no one has, and code that wants the internet itself, are faults of what is built."""
    assert classify(result(text), (), waiting_s=1.0, host_free_bytes=ROOM).kind is not BuildFailureKind.LOST


async def builds(error: Exception, times: int) -> int:
    """Return what became of a build that fails so many times: the number of the try that succeeded."""
    tries = 0

    async def build() -> int:
        nonlocal tries
        tries += 1
        if tries <= times:
            raise error
        return tries

    return await repeated(build, WorkTime(5))


def lost(asker: Asker, *, forgeable: bool, kind: BuildFailureKind = BuildFailureKind.LOST) -> Exception:
    """Return the error of a build that says that it lost its connection."""
    failure = BuildFailure(kind=kind, message="reset")
    return as_error(failure, asker, "x", Path("log"), forgeable=forgeable)


async def test_a_build_that_lost_its_connection_is_done_again() -> None:
    """What happens once or twice to a build is no fault of what is built; other errors are reported at once."""
    assert await builds(lost("submission", forgeable=True), TRIES - 1) == TRIES
    with pytest.raises(TaskError):
        await builds(TaskError("own fault"), 1)


async def test_words_of_a_lost_connection_do_not_take_a_submission_out_of_the_count() -> None:
    """A build that prints them each time, and could have made them up, is the submission's fault after all."""
    for kind in (BuildFailureKind.LOST, BuildFailureKind.STARVED):
        with pytest.raises(SubmissionError, match=kind):
            await builds(lost("submission", forgeable=True, kind=kind), TRIES)


@pytest.mark.parametrize(("asker", "forgeable"), [("submission", False), ("recipe", True), ("agent", True)])
async def test_honest_words_of_a_lost_connection_stay_the_machines(asker: Asker, *, forgeable: bool) -> None:
    """Where only installers of ours were at work, or no one gains by it, it is infrastructure however often."""
    with pytest.raises(LostConnectionError, match="try again"):
        await builds(lost(asker, forgeable=forgeable), TRIES)


def test_time_that_a_registry_took_is_not_the_submissions() -> None:
    """A build that was not done in time while a registry failed or said nothing is infrastructure."""
    error = OutOfTimeError("not done within 5 s")
    assert out_of_time(error, (), 1.0) is error
    assert isinstance(out_of_time(error, (UNREACHABLE,), 0.0), NetworkError)
    assert isinstance(out_of_time(error, (), 30.0), NetworkError)


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (Ending.TIMEOUT, BuildFailureKind.TIMEOUT),
        (Ending.WALL_CLOCK, BuildFailureKind.TIMEOUT),
        (Ending.MEMORY, BuildFailureKind.MEMORY),
        (Ending.PROCESSES, BuildFailureKind.MEMORY),
        (Ending.DISK, BuildFailureKind.DISK),
        (Ending.SANDBOX_DIED, BuildFailureKind.SANDBOX),
    ],
)
def test_limits_are_reported_whatever_was_printed(ending: Ending, kind: BuildFailureKind) -> None:
    """How the command ended counts more than its words, which the built code can forge."""
    forged = result("error: No solution found: was not found in the package registry", ending)
    assert classify(forged, (), waiting_s=1.0, host_free_bytes=ROOM).kind is kind


def test_a_build_that_waits_for_the_index_is_not_slow_itself() -> None:
    """A timeout while the registry owes an answer is the network's."""
    assert (
        classify(result(ending=Ending.TIMEOUT), (), waiting_s=60.0, host_free_bytes=ROOM).kind
        is BuildFailureKind.NETWORK
    )


def test_what_the_gateway_knows_counts_more_than_what_was_printed() -> None:
    """The gateway's record comes from outside the sandbox; of two records the network's explains the other."""
    assert classify(result("x"), [REFUSED], waiting_s=1.0, host_free_bytes=ROOM) == BuildFailure(
        kind=BuildFailureKind.REFUSED, message=REFUSED.message
    )
    assert (
        classify(result("x"), [REFUSED, UNREACHABLE], waiting_s=1.0, host_free_bytes=ROOM).kind
        is BuildFailureKind.NETWORK
    )


def test_a_full_host_disk_is_infrastructure() -> None:
    """No submission is blamed for the machine's disk."""
    assert (
        classify(result("No space left on device"), (), waiting_s=1.0, host_free_bytes=1000).kind
        is BuildFailureKind.HOST_DISK
    )


@pytest.mark.parametrize("kind", BuildFailureKind)
def test_every_kind_has_one_to_blame(kind: BuildFailureKind) -> None:
    """Infrastructure stays infrastructure; all else is the fault of what is built; each text names the log."""
    infrastructure = {
        BuildFailureKind.NETWORK: NetworkError,
        BuildFailureKind.LOST: LostConnectionError,
        BuildFailureKind.STARVED: StarvedError,
        BuildFailureKind.HOST_DISK: DiskFullError,
        BuildFailureKind.SANDBOX: SandboxError,
    }
    failure = BuildFailure(kind=kind, message="it went wrong")
    for asker, own in (("recipe", TaskError), ("submission", SubmissionError)):
        error = as_error(failure, "recipe" if asker == "recipe" else "submission", "the build", Path("/x/y.log"))
        assert type(error) is infrastructure.get(kind, own)
        assert "/x/y.log" in str(error)


LOG = "the log is L"
NOT_THEIRS = {
    BuildFailureKind.NETWORK: f"W: M; check the network and try again ({LOG})",
    BuildFailureKind.LOST: f"W: the connection to our own gateway was lost: M; try again ({LOG})",
    BuildFailureKind.STARVED: f"W: this machine had no process left: M; try again ({LOG})",
    BuildFailureKind.HOST_DISK: f"W: M; free some and try again ({LOG})",
    BuildFailureKind.SANDBOX: f"W: M; look with `groundup doctor`, and try again ({LOG})",
}


@pytest.mark.parametrize("kind", BuildFailureKind)
def test_each_asker_gets_the_sentence_that_helps_it(kind: BuildFailureKind) -> None:
    """What the machine did says the same to all; else a recipe is to be mended, an agent pinned otherwise."""
    asked: dict[Asker, str] = {
        "recipe": f"W: {kind}: M; mend the recipe ({LOG})",
        "submission": f"W: {kind}: M ({LOG})",
        "agent": f"W: {kind}: M; pin another version ({LOG})",
    }
    if kind is BuildFailureKind.TIMEOUT:
        asked["agent"] = f"W: M; try again when the machine is less busy ({LOG})"
    for asker, sentence in asked.items():
        error = as_error(BuildFailure(kind=kind, message="M"), asker, "W", Path("L"))
        assert str(error) == NOT_THEIRS.get(kind, sentence)
        if kind in (BuildFailureKind.LOST, BuildFailureKind.STARVED):
            otherwise = getattr(error, "otherwise", None)
            assert (otherwise and str(otherwise)) == (asked["submission"] if asker == "submission" else None)


def test_advice_that_a_client_gave_is_not_given_again() -> None:
    """Who is told to check the network once knows it."""
    said = BuildFailure(kind=BuildFailureKind.NETWORK, message="it is silent; check the network")
    assert str(as_error(said, "recipe", "W", Path("L"))) == f"W: it is silent; check the network ({LOG})"


def test_time_limits_say_what_kept_a_build() -> None:
    """To the very second: what a registry owes for longer than 20 s was its fault."""
    error = OutOfTimeError("x: not done within 5 s")
    assert out_of_time(error, (REFUSED,), 20.0) is error
    assert str(out_of_time(error, (), 20.5)) == (
        "x: not done within 5 s: a registry has sent nothing for 20 s; check the network and try again"
    )
    assert str(out_of_time(error, (REFUSED, UNREACHABLE), 0.0)) == (
        "x: not done within 5 s: it cannot be reached; check the network and try again"
    )


@pytest.mark.parametrize(
    ("ending", "waiting_s", "free_mb", "told"),
    [
        (Ending.EXITED, 0.0, 63, "no room is left on the disk of the cache"),
        (Ending.TIMEOUT, 99.0, 63, "no room is left on the disk of the cache"),
        (Ending.EXITED, 99.0, 64, "no usable wheels"),
        (Ending.TIMEOUT, 20.0, 64, "the build did not end in time"),
        (Ending.TIMEOUT, 20.5, 64, "the package index did not answer in time"),
        (Ending.MEMORY, 99.0, 64, "the build needed more memory than it may have"),
        (Ending.PROCESSES, 0.0, 64, "the build started more processes than it may"),
        (Ending.DISK, 0.0, 64, "the build wrote more to disk than it may"),
        (Ending.SANDBOX_DIED, 0.0, 64, "the build's sandbox died"),
    ],
)
def test_each_way_a_build_ends_has_its_sentence(ending: Ending, waiting_s: float, free_mb: int, told: str) -> None:
    """On both sides of the limits."""
    ended = result("error: no usable wheels", ending)
    found = classify(ended, (), waiting_s=waiting_s, host_free_bytes=free_mb * 1024 * 1024)
    assert found.message == told


def test_of_what_a_gateway_says_the_first_of_the_gravest_counts() -> None:
    """Later troubles often follow from it."""
    later = Trouble(kind="network", name="x", message="later")
    budget = Trouble(kind="budget", name="x", message="too much")
    for troubles, told in (
        ((budget, UNREACHABLE, later), UNREACHABLE.message),
        ((budget, REFUSED), REFUSED.message),
        ((budget,), "too much"),
    ):
        assert classify(result("x"), troubles, waiting_s=0.0, host_free_bytes=ROOM).message == told


async def test_failures_of_the_machine_are_tried_thrice() -> None:
    """Others once; the last one is told, and success is none."""
    machine = BuildFailure(kind=BuildFailureKind.LOST, message="reset")
    own = BuildFailure(kind=BuildFailureKind.BUILD, message="own")
    for ends, told, tries in (
        ((machine, machine, machine, None), machine, 3),
        ((machine, None), None, 2),
        ((own, None), own, 1),
        ((machine, own, None), own, 2),
    ):
        left = list(ends)

        async def build(left: list[BuildFailure | None] = left) -> BuildFailure | None:
            return left.pop(0)

        assert await failure_repeated(build, WorkTime(5)) == told
        assert len(ends) - len(left) == tries


async def test_what_failed_by_its_own_fault_is_not_built_again() -> None:
    """It fails with the same words; what was out of time, or the machine's fault, is tried anew."""
    builds = Builds()
    for error, again in (
        (TaskError("own fault"), False),
        (SubmissionError("theirs"), False),
        (OutOfTimeError("slow"), True),
        (NetworkError("away"), True),
    ):
        tries = 0

        async def build(error: Exception = error) -> Layer:
            nonlocal tries
            tries += 1
            raise error

        for _ in range(2):
            with pytest.raises(type(error), match=str(error)):
                await builds.get(str(error), build)
        assert tries == 1 + again


PANIC = """thread 'main' panicked at src/main.rs:3:5:
called `Result::unwrap()` on an `Err` value: it cannot be read
stack backtrace:
   0: rust_begin_unwind
             at /rustc/abc/library/std/src/panicking.rs:597:5
   1: core::panicking::panic_fmt
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
"""
TRACEBACK = 'Traceback (most recent call last):\n  File "/a.py", line 1, in <module>\nImportError: no module\n\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (PANIC, "called `Result::unwrap()` on an `Err` value: it cannot be read"),
        (TRACEBACK, "ImportError: no module"),
        ("one\ntwo\n", "two"),
        ("fatal: one\ntwo\n", "fatal: one"),
        ("x" * 400, "x" * 300),
        ("", ""),
    ],
)
def test_a_broken_program_is_quoted_with_what_it_said(text: str, line: str) -> None:
    """Not with the last frame of its backtrace."""
    assert telling_line(text) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("error: x\nhint: y\ncause: z:\n", "x: z"),
        ("noise\nerror: x\nmore", "x: more"),
        ("1\n2\n\n3\n4\n", "2: 3: 4"),
        ('1\n  File "a"\n3\n', "1: 3"),
        ("error: a\n[stdout]\nfoo\n[stderr]\nbar\nValueError: no\n", "a: ValueError: no"),
        ("error: a\ncause: The build backend returned an error\n[stderr]\nzz\nyy\n", "a: zz"),
        ("a\tb\x1b[0m", "a b [0m"),
        ("a" * 300, "a" * 300),
        ("a" * 150 + "b" * 151, "a" * 147 + " ... " + "b" * 147),
    ],
)
def test_a_builds_words_become_one_sentence(text: str, line: str) -> None:
    """uv's error and causes, or the last three lines; of a long one both ends."""
    assert condensed(text) == line


@given(st.text(max_size=2000))
def test_condensed_text_is_one_short_printable_line(text: str) -> None:
    """Whatever a build prints, the sentence stays a sentence."""
    line = condensed(text)
    assert len(line) <= 300
    assert line.isprintable()
