"""Strict grading of honest, broken and cheating services, in real pods."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typing_extensions import override

from groundup.domain.errors import TaskError
from groundup.domain.verdicts import Reason, Stage, Status
from groundup.environments.requests import PythonEnvironment, PythonRequest
from groundup.grading.context import GradingContext
from groundup.suites.repogenesis.strict import RepoGenesisStrictGrader
from tests.patience import patient
from tests.suites.repogenesis.trials import (
    COMMENTER,
    CONTAINED,
    DAEMON,
    EVERYTHING_WELL,
    HONEST,
    LIFECYCLE,
    NOT_FOUND,
    OVERWRITER,
    PRINTER,
    SLEEPER,
    TASK,
    ServiceBuilder,
    Trial,
    passed,
    share,
)

pytestmark = pytest.mark.end_to_end
HEALTH = '        if parts == ["health"]:'
DEPLOYMENT = ("installed", "port_in_time", "health", "deployed")


def deployment(trial_scores: object) -> tuple[float | None, ...]:
    """Return the three facts and whether all hold."""
    return tuple(share(trial_scores, name) for name in DEPLOYMENT)  # type: ignore[arg-type]


async def test_an_honest_service_gets_everything(trial: Trial) -> None:
    """Deployed, all hidden tests passed, every endpoint found by asking; a short verdict without reasons."""
    graded = await trial.strict({"app.py": HONEST, "requirements.txt": "anything\n"})

    assert graded.verdict.status is Status.GRADED
    assert passed(graded) == 4
    assert deployment(graded) == (1, 1, 1, 1)
    assert share(graded, "api_coverage") == 1
    assert graded.verdict.reasons == ()
    assert len(graded.verdict.model_dump_json()) < 2048
    assert {test.outcome for test in graded.tests} == {"passed"}
    assert b"POST /notes" in graded.logs["endpoints.txt"]


async def test_a_start_script_that_daemonises_is_fine(trial: Trial) -> None:
    """What counts is that the port answers, not which process lives."""
    graded = await trial.strict(DAEMON)

    assert passed(graded) == 4
    assert share(graded, "deployed") == 1


async def test_a_service_may_do_what_it_does_in_the_published_container(trial: Trial) -> None:
    """It is root and writes beside its folder; `nc` is there, and what the published image lacks is not."""
    graded = await trial.strict(CONTAINED)

    assert (passed(graded), share(graded, "deployed")) == (4, 1), graded.logs


async def test_a_script_in_a_folder_whose_name_is_no_text_has_a_verdict(trial: Trial) -> None:
    """It is found and started; what the verdict says of it can be written."""
    graded = await trial.strict({"app.py": HONEST, "a\udcff/start.sh": "exec python app.py\n"})

    assert passed(graded) == 4
    assert graded.verdict.facts["start"] == "a\\xff/start.sh"
    assert graded.verdict.model_dump_json()


async def test_nothing_gets_nothing(trial: Trial) -> None:
    """An empty submission is neither installed nor deployed, and no test counts."""
    graded = await trial.strict({})

    assert passed(graded) == 0
    assert deployment(graded) == (0, 0, 0, 0)
    assert share(graded, "api_coverage") == 0
    assert graded.verdict.score is not None
    assert graded.verdict.score.denominator == 4


async def test_a_health_path_that_answers_slowly_is_waited_for(trial: Trial) -> None:
    """The first question is given up after 2 s: connections get lost while a service starts. No further one is."""
    head, tail = HONEST.split(HEALTH)
    slow = f'{head}{HEALTH}\n            __import__("time").sleep(6)\n{tail[1:]}'
    graded = await trial.strict({"app.py": slow}, LIFECYCLE.but(ready_s=12, one_test_s=30, answer_s=8))

    assert (passed(graded), deployment(graded)) == (4, (1, 1, 1, 1)), graded.verdict.reasons


async def test_a_server_that_knows_no_page_is_never_ready(trial: Trial) -> None:
    """404 to everything: nothing answers as promised, and skipped tests stay in the denominator."""
    graded = await trial.strict({"app.py": NOT_FOUND}, LIFECYCLE.but(ready_s=2.0))

    assert deployment(graded) == (1, 0, 0, 0)
    assert passed(graded) == 0
    assert graded.verdict.score is not None
    assert graded.verdict.score.denominator == 4
    assert graded.verdict.facts["skipped"] == 4
    assert "not well" in str(graded.verdict.facts["skip_reason"])
    assert share(graded, "api_coverage") == 0


async def test_a_server_that_answers_well_to_everything_implements_nothing(trial: Trial) -> None:
    """200 to paths that do not exist is no evidence for those that should."""
    graded = await trial.strict({"app.py": EVERYTHING_WELL})

    assert share(graded, "deployed") == 1
    assert passed(graded) == 0
    assert share(graded, "api_coverage") == 0
    assert graded.verdict.facts["endpoints_unclear"] == 4
    assert "endpoints: 4 unclear, first" in graded.verdict.reasons[-1].message


@pytest.mark.parametrize("start", ["exec python app.py\n", "python app.py\n"])
async def test_a_signal_that_ended_a_service_is_named(trial: Trial, start: str) -> None:
    """By Python's count and by a shell's."""
    files = {"app.py": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", "start.sh": start}
    graded = await trial.strict(files)

    assert re.search(r"ended with exit code (-11|139) \(SIGSEGV\)", graded.verdict.reasons[0].message)


async def test_a_service_that_unknown_paths_end_is_told_so(trial: Trial) -> None:
    """Endpoints that were not answered are no unclear ones; the start for the tests knows nothing of it."""
    ending = HONEST.replace('        return self.tell(404, {"error": "no such page"})', "        os._exit(3)")
    graded = await trial.strict({"app.py": ending.replace("import json", "import json, os", 1)})

    assert passed(graded) == 4
    assert graded.verdict.reasons[-1].message == (
        "endpoints: 3 without an answer, first POST /notes; 1 of 4 count; "
        "the service left with exit code 3 when it was asked"
    )


async def test_a_service_whose_every_answer_takes_long_gets_everything(trial: Trial) -> None:
    """What it needed to be ready, it has for each further answer."""
    slow = HONEST.replace(HEALTH, f'        if parts == ["health"]:\n            time.sleep(4)\n{HEALTH}')
    graded = await trial.strict(
        {"app.py": slow.replace("import json", "import json, time", 1)}, LIFECYCLE.but(ready_s=15)
    )

    assert passed(graded) == 4
    assert share(graded, "deployed") == share(graded, "api_coverage") == 1
    assert graded.verdict.reasons == ()


async def test_a_process_that_merely_lives_is_not_deployed(trial: Trial) -> None:
    """`sleep 3600` does not answer; and such a verdict, which time decided, is not cached."""
    graded = await trial.strict(SLEEPER)

    assert deployment(graded) == (1, 0, 0, 0)
    assert passed(graded) == 0
    assert not graded.verdict.cacheable
    assert graded.verdict.by_time
    assert graded.verdict.reasons[0].stage is Stage.START


async def test_a_service_that_takes_too_much_memory_is_told_so(trial: Trial) -> None:
    """A program that was killed prints nothing, and its exit code names no cause."""
    hungry = "taken = bytearray(600 * 2**20)\nfor at in range(0, len(taken), 4096):\n    taken[at] = 1\n"
    graded = await trial.strict(
        {"app.py": hungry + HONEST}, LIFECYCLE.but(service=LIFECYCLE.service.but(memory_mb=256))
    )

    assert passed(graded) == 0
    assert "memory" in graded.verdict.reasons[0].message.lower()


async def test_what_is_printed_decides_nothing(trial: Trial) -> None:
    """Markers and summaries of another harness are words; they only appear in the service's log."""
    graded = await trial.strict(PRINTER)

    assert deployment(graded) == (1, 0, 0, 0)
    assert passed(graded) == 0
    assert b"4 passed" in graded.logs["service.txt"]
    assert "tests.txt" not in graded.logs


async def test_the_service_can_neither_see_nor_change_nor_end_the_tests(trial: Trial) -> None:
    """A start script that rewrites tests and kills test processes reaches its own files and processes only."""
    graded = await trial.strict(OVERWRITER)

    assert graded.verdict.facts["tests"] == 4
    assert graded.verdict.facts["failed"] == 4
    assert passed(graded) == 0
    assert {test.id.partition("::")[2] for test in graded.tests} == {
        "test_health",
        "test_add",
        "test_find",
        "test_remove",
    }
    assert b"runner.py" not in graded.logs["service.txt"]


async def test_comments_implement_nothing(trial: Trial) -> None:
    """A file full of routes in comments covers no endpoint."""
    assert share(await trial.strict(COMMENTER, LIFECYCLE.but(ready_s=2.0)), "api_coverage") == 0


async def test_a_failed_install_is_a_fact_of_its_own(trial: Trial) -> None:
    """The service is started all the same, in the fallback environment."""
    graded = await trial.strict({"app.py": HONEST, "requirements.txt": "no-such-package\n"})

    assert deployment(graded) == (0, 1, 1, 0)
    assert passed(graded) == 4
    assert graded.verdict.facts["install"] == "failed"
    assert graded.verdict.reasons[0].stage is Stage.INSTALL
    assert graded.verdict.reasons[0].message.startswith("not deployed, for it did not install: ")


class Asking(ServiceBuilder):
    """Keeps what it is asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked: list[PythonRequest] = []

    @override
    async def python(self, request: PythonRequest) -> PythonEnvironment:
        """Return the running environment."""
        self.asked.append(request)
        return await super().python(request)


@pytest.mark.parametrize(("python", "packages"), [("3.9", 0), ("3.10", 1), ("3.13", 1)])
async def test_interpreters_older_than_the_published_one_get_none_of_its_packages(
    trial: Trial, python: str, packages: int
) -> None:
    """Many of them have no release for those, and a service that declares nothing must have a verdict."""
    problem = trial.problem()
    problem = problem.but(task=problem.task.but(python=python))
    pin = f"flask==3.1.3 --hash=sha256:{'0' * 64}"
    (trial.folder / "nothing").mkdir()
    builder = Asking(trial.folder)
    context = GradingContext(provider=trial.provider, builder=builder, scratch=trial.folder / "scratch")

    grader = RepoGenesisStrictGrader({"notes": problem}, LIFECYCLE.but(fallback=(pin,)))
    graded = await grader.grade(TASK, trial.folder / "nothing", context)

    assert passed(graded) == 0
    fallback = builder.asked[0]
    assert (fallback.python, len(fallback.requirements)) == (python, packages)


async def test_a_test_that_hangs_costs_itself_only(trial: Trial) -> None:
    """A service that never answers one question loses that test; the others are run."""
    hanging = HONEST.replace("            del notes[parts[1]]\n", "            import time; time.sleep(3600)\n")
    graded = await trial.strict({"app.py": hanging}, LIFECYCLE.but(one_test_s=3.0))

    assert passed(graded) == 3
    assert {test.id.partition("::")[2]: test.outcome for test in graded.tests}["test_remove"] == "error"
    assert not graded.verdict.cacheable
    assert graded.verdict.by_time


async def test_errors_of_the_service_are_told_beside_the_tests_that_they_cost(trial: Trial) -> None:
    """A test sees a lost connection or a status; the line that raised stands in the service's log."""
    raising = HONEST.replace("            del notes[parts[1]]\n", "            del notes[parts[1]].owner\n")
    graded = await trial.strict({"app.py": raising})
    at = 1 + raising.splitlines().index("            del notes[parts[1]].owner")
    messages = [reason.message for reason in graded.verdict.reasons]

    assert messages[0].startswith("1 of 4 hidden tests did not pass, first tests/")
    assert "in its log, most often AttributeError: " in messages[1]
    assert messages[1].endswith(f" (app.py, line {at})")


async def test_a_service_that_dies_in_the_tests_is_asked_again_for_its_endpoints(trial: Trial) -> None:
    """Coverage is what the started service implements; its death costs the tests that follow."""
    line = "            number = str(len(notes) + 1)"
    dying = HONEST.replace(line, f"            import os\n            if len(notes) == 1: os._exit(1)\n{line}")
    graded = await trial.strict({"app.py": dying})

    assert passed(graded) == 2
    assert graded.verdict.facts["died_in_tests"] is True
    assert share(graded, "api_coverage") == 1
    assert graded.verdict.reasons[0].stage is Stage.CRASH
    assert graded.verdict.reasons[0].message.startswith("the service left with exit code 1 in the tests")


async def test_the_last_words_of_a_service_that_dies_are_reported(trial: Trial) -> None:
    """Who reads why a service was not deployed sees what it complained of; no limit of time decided that."""
    script = "echo starting\necho 'mkdir: Read-only file system' >&2\nexit 3\n"
    graded = await trial.strict({"start.sh": script})

    (why,) = graded.verdict.reasons
    assert why.stage is Stage.START
    assert "exit code 3" in why.message
    assert why.message.endswith("last words: starting | mkdir: Read-only file system")
    assert (graded.verdict.by_time, graded.verdict.cacheable) == (False, True)


async def test_a_late_service_is_tested_and_called_late(trial: Trial) -> None:
    """Deployment in time and passing tests are different facts."""
    # However starved the machine, a sleep of seconds counts for longer than the one limit and not for the other.
    late = LIFECYCLE.but(ready_s=0.01, late_s=600.0)
    graded = await trial.strict({"app.py": HONEST, "start.sh": "sleep 4\nexec python app.py\n"}, late)

    assert deployment(graded) == (1, 0, 1, 0)
    assert passed(graded) == 4


_COUNTING = HONEST.replace(
    "    def handle_any(self):\n",
    """    def handle_any(self):
        if time.time() < began + 1:
            return self.tell(503)
        seen.append(self.path)
        if len(seen) > 12 or self.path.split("/")[1] not in ("health", "notes"):
            blocked.append(self.path)
        if blocked:
            return self.tell(429)
""",
).replace("notes = {}", "import time\nbegan, notes, seen, blocked = time.time(), {}, [], []")


async def test_the_grader_leaves_no_traces(trial: Trial) -> None:
    """A service that warms up, limits questions and blocks who asks for unknown paths passes its tests."""
    graded = await trial.strict({"app.py": _COUNTING})

    assert passed(graded) == 4, graded.logs["tests.txt"]
    assert share(graded, "deployed") == 1
    assert graded.verdict.facts["ready_by"] == "GET /health"


async def test_a_loss_that_no_time_mends_is_certain(trial: Trial) -> None:
    """A program that is not there, and a port that is another one, are final however busy the machine is."""
    for files in ({"start.sh": "no-such-program\n"}, {"app.py": HONEST.replace("8123", "8124")}, {}):
        graded = await trial.strict(files)
        assert (passed(graded), graded.is_certain) == (0, True), graded.verdict
    assert not (await trial.strict({"app.py": HONEST})).is_certain


async def test_a_count_that_pytest_does_not_find_is_the_tasks_fault(trial: Trial) -> None:
    """No submission is measured by a denominator that is not the number of its tests."""
    problem = trial.problem()
    assert problem.folder is not None
    record = problem.folder / "task.toml"
    record.write_text(record.read_text().replace("count = 4", "count = 3"))
    with pytest.raises(TaskError, match="counts 3 hidden tests, and 4 were found"):
        await trial.strict({"app.py": HONEST})


async def test_a_zero_keeps_every_denominator(trial: Trial) -> None:
    """A submission that cannot be taken in counts in every share that a graded one counts in."""
    grader = RepoGenesisStrictGrader({"notes": trial.problem()}, LIFECYCLE)
    zero = grader.zero(TASK, Reason(stage=Stage.INTAKE, message="too large"))
    graded = await trial.strict({})

    assert {name: score.denominator for name, score in zero.verdict.scores.items()} == {
        name: score.denominator for name, score in graded.verdict.scores.items()
    }


@pytest.mark.needs("groundup_bridges")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: guests of one container are users of their own")
def test_cheats_gain_nothing_in_a_container_without_namespaces(tmp_path: Path) -> None:
    """A service neither ends, rewrites nor reads its tests where only users and root folders part them."""
    deserved = {"overwrites and kills": 0, "kills everything": 0, "reads around": 0, "honest": 4}
    program = [sys.executable, "-m", "tests.suites.repogenesis.in_container", str(tmp_path), *deserved]
    done = subprocess.run(program, capture_output=True, check=False, timeout=patient(60))
    assert json.loads(done.stdout or b"null") == deserved, done.stderr.decode()
