"""Whether a job passed, from act's own lines.

`python -m tests.grading.ci.test_decision` writes golden/decisions.txt anew: read what changed.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from groundup.grading.ci.job import decide, read_act_log
from groundup.grading.ci.plan import PlannedJob
from groundup.grading.ci.records import JobOutcome, JobRequest, OriginalTests, RunCommand
from groundup.grading.ci.tallies import RunnerTally
from groundup.grading.ci.tested import CountedTests, StepsWithTests, counted_tests, why_not_tested
from groundup.sandbox.protocol import CommandResult, Ending
from groundup.workflows.workflow import Job, read_workflow
from tests.workflows.made import steps_with_tests

LEG: dict[str, JsonValue] = {"v": 1}


def job(*steps: Mapping[str, object]) -> Job:
    """Return a job named `test`."""
    found = steps or ({"uses": "actions/checkout@v4"}, {"run": "pytest"})
    return read_workflow(json.dumps({"jobs": {"test": {"steps": found}}}).encode(), "x").job("test")


def step(key: str, result: str, name: str = "test", **more: object) -> dict[str, object]:
    """Return act's line for the end of a step."""
    return {
        "jobID": name,
        "matrix": LEG,
        "stepID": [key],
        "stepResult": result,
        "stage": "Main",
        "step": key,
        **more,
    }


def end(result: str, name: str = "test", matrix: Mapping[str, JsonValue] = LEG) -> dict[str, object]:
    """Return act's line for the end of a job."""
    return {"jobID": name, "matrix": dict(matrix), "jobResult": result}


def decided(
    lines: Sequence[Mapping[str, object]],
    *,
    code: int | None = 0,
    ending: Ending = Ending.EXITED,
    commands: Sequence[RunCommand] | None = None,
    of: Job | None = None,
    untested: str = "",
) -> tuple[JobOutcome, str]:
    """Return what is decided from these lines."""
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    ended = CommandResult(exit_code=code, ending=ending, stdout=data, stderr=b"", duration_s=1)
    ran = [command("1")] if commands is None else commands
    one = of or job()
    tests = {step.key for step in steps_with_tests(one, LEG)}
    outcome, reason, _ = decide(one, LEG, tests, read_act_log(data, "test"), ended, ran, untested)
    return outcome, reason


def command(key: str, code: int = 0, ending: str = "exited") -> RunCommand:
    """Return a command of a step."""
    return RunCommand(job="test", step=key, exit_code=code, ending=ending, duration_s=1)


GREEN = (step("0", "success"), step("1", "success"), end("success"))


def test_a_green_job_with_tests_passes() -> None:
    """Exit code 0, success of the wanted leg, and a step with tests that ran: all three."""
    assert decided(GREEN) == (JobOutcome.PASSED, "")


def test_exit_code_0_alone_is_nothing() -> None:
    """act ends with 0 when nothing ran; that is not a pass."""
    assert decided(())[0] is JobOutcome.NOT_RUN
    assert decided((end("success", name="lint"),))[0] is JobOutcome.NOT_RUN
    assert decided((end("success", matrix={"v": 2}),))[0] is JobOutcome.NOT_RUN


def test_any_other_exit_code_fails() -> None:
    """A job that reports success while act fails is not believed."""
    assert decided(GREEN, code=1)[0] is JobOutcome.FAILED


def test_skipped_tests_show_nothing() -> None:
    """A step with tests that was skipped, or that started nothing, is no pass."""
    skipped = (step("0", "success"), step("1", "skipped"), end("success"))
    assert decided(skipped)[0] is JobOutcome.NOT_RUN
    assert decided(GREEN, commands=())[0] is JobOutcome.NOT_RUN


def test_a_green_job_in_which_too_few_tests_passed_is_no_pass() -> None:
    """None passed, or fewer than with the original, or nobody says it any more; a red job stays red."""

    def why(passed: int | None, least: int | None) -> str:
        return why_not_tested(CountedTests(passed=passed), StepsWithTests(), OriginalTests(passed=least))

    assert why(0, None)
    assert "2 tests passed in it, and 3 with the original" in why(2, 3)
    assert "0 tests passed in it, and 3 with the original" in why(None, 3)
    assert [why(*pair) for pair in ((1, None), (3, 3), (4, 3), (None, None))] == [""] * 4
    assert decided(GREEN, untested="why") == (JobOutcome.NOT_RUN, "why")
    red = (step("0", "success"), step("1", "failure"), end("failure"))
    assert decided(red, code=1, commands=[command("1", 5)], untested="why")[0] is JobOutcome.FAILED


def test_tests_are_counted_in_the_steps_that_run_them(tmp_path: Path) -> None:
    """Their sum; where output was cut nobody knows, and `dotnet test` never runs tests in silence."""
    workflow = "jobs: {test: {steps: [{run: dotnet test a}, {run: dotnet test b > log}, {run: pytest}]}}"
    (tmp_path / "ci.yml").write_text(workflow)
    planned = PlannedJob(JobRequest(tree=tmp_path, workflow="ci.yml", job="test"))

    def counted(**steps: int | None) -> int | None:
        ran = [command(key[1:]).but(tallies=tallies(count)) for key, count in steps.items()]
        other = command("0").but(job="other", tallies=tallies(9))
        return counted_tests("test", planned.test_steps, [*ran, other], ()).passed

    assert counted(_0=2, _2=3) == 5
    assert counted(_0=None, _1=2) == 2
    assert counted(_0=None) == 0
    assert counted(_0=None, _1=None) is None
    assert counted(_2=None) == 0
    cut = counted_tests("test", planned.test_steps, [command("0").but(tallies=tallies(2), cut=True)], ())
    assert (cut.passed, why_not_tested(cut, planned.test_steps, OriginalTests(passed=3))) == (None, "")


def tallies(passed: int | None) -> tuple[RunnerTally, ...]:
    """Return what a runner says by which so many passed; nothing for None."""
    return () if passed is None else (RunnerTally(runner="pytest", passed=passed),)


def test_conditions_may_leave_out_some_tests() -> None:
    """Of several steps with tests those with a condition may be skipped, as long as one ran."""
    both = job({"run": "pytest"}, {"run": "pytest --bench", "if": "matrix.bench == env.X"})
    lines = (step("0", "success"), step("1", "skipped"), end("success"))
    assert decided(lines, of=both, commands=[command("0")])[0] is JobOutcome.PASSED
    lines = (step("0", "skipped"), step("1", "success"), end("success"))
    assert decided(lines, of=both, commands=[command("1")])[0] is JobOutcome.NOT_RUN


def test_a_failure_names_its_step() -> None:
    """The reason holds step and exit code, or the limit that ended it."""
    red = (step("0", "success"), step("1", "failure"), end("failure"))
    assert decided(red, code=1, commands=[command("1", 5)]) == (
        JobOutcome.FAILED,
        "step 'pytest' failed with exit code 5",
    )
    assert "memory" in decided(red, code=1, commands=[command("1", -9, "memory")])[1]


def test_time_that_is_up_is_distinguished() -> None:
    """A job that was ended at its deadline timed out, whether act or groundup noticed first."""
    assert decided((), code=None, ending=Ending.TIMEOUT)[0] is JobOutcome.TIMEOUT
    assert decided((end("failure"),), code=1, commands=[command("1", -9, "timeout")])[0] is JobOutcome.TIMEOUT


def test_what_steps_print_is_never_act_s_word() -> None:
    """Lines that act marks as a step's output, and lines that are no records, say nothing."""
    forged = {**end("success"), "raw_output": True}
    assert decided((forged,))[0] is JobOutcome.NOT_RUN
    data = b'{"jobID": 1}\nnot json\n[1]\n"x"\n' + b"[" * 100_000 + b"\n" + json.dumps(end("success")).encode()
    assert len(read_act_log(data, "test").jobs) == 1


def test_a_step_that_may_fail_lets_the_job_pass() -> None:
    """`continue-on-error`: act calls the job a success; where all tests failed so, the job shows nothing."""
    checked = job({"run": "mypy", "continue-on-error": True}, {"run": "pytest"})
    lines = (step("0", "failure"), step("1", "success"), end("success"))
    assert decided(lines, of=checked) == (JobOutcome.PASSED, "")
    soft = job({"run": "make"}, {"run": "pytest", "continue-on-error": True})
    lines = (step("0", "success"), step("1", "failure"), end("success"))
    assert decided(lines, of=soft, commands=[command("1", 1)]) == (
        JobOutcome.FAILED,
        "step 'pytest' failed with exit code 1",
    )
    both = job({"run": "pytest"}, {"run": "pytest nightly", "continue-on-error": True})
    lines = (step("0", "success"), step("1", "failure"), end("success"))
    assert decided(lines, of=both, commands=[command("0"), command("1", 1)])[0] is JobOutcome.PASSED


def test_a_needed_job_that_failed_is_named_where_it_kept_the_tests_off() -> None:
    """Where the wanted job runs all the same, as with `if: always()`, its own end counts."""
    red = end("failure", name="lint")
    failed = command("0", 3).but(job="lint")
    assert decided((red,), code=1, commands=[failed]) == (
        JobOutcome.FAILED,
        "job lint, which it needs, failed with exit code 3",
    )
    assert decided((red, *GREEN), code=1)[0] is JobOutcome.PASSED


def test_parts_of_composite_actions_are_no_steps() -> None:
    """Only the job's own steps are reported, not those that an action is made of."""
    inner = {**step("1", "failure"), "stepID": ["1", "inner"]}
    assert not read_act_log(json.dumps(inner).encode(), "test").steps


GOLDEN = Path(__file__).parent / "golden" / "decisions.txt"
THREE = job({"run": "make"}, {"run": "pytest", "name": "x" * 130}, {"run": "pytest b", "if": "success()"})
PLAIN = job({"run": "make"}, {"uses": "actions/checkout@v4"})
LOGS: dict[str, Sequence[Mapping[str, object]]] = {
    "green": [*(step(key, "success", executionTime=1_500_000_000) for key in "012"), end("success")],
    "first red": [step("0", "failure"), end("failure")],
    "tests red": [step("0", "success"), step("1", "failure"), step("2", "failure"), end("failure")],
    "soft": [step("0", "failure"), step("1", "success"), step("2", "success"), end("success")],
    "soft tests": [step("0", "success"), step("1", "failure"), step("2", "failure"), end("success")],
    "one soft test": [step("0", "success"), step("1", "failure"), step("2", "success"), end("success")],
    "tests skipped": [step("0", "success"), step("1", "skipped"), step("2", "skipped"), end("success")],
    "condition skipped": [step("0", "success"), step("1", "success"), step("2", "skipped"), end("success")],
    "job skipped": [end("skipped")],
    "two ends": [end("cancelled"), end("skipped")],
    "no end": [step("0", "success")],
    "other leg": [end("success", matrix={"v": 2})],
    "two legs": [step("0", "success"), end("success"), end("success")],
    "needed red": [end("failure", "lint")],
    "needed red, green": [*(step(key, "success") for key in "012"), end("failure", "lint"), end("success")],
    "red without a step": [end("failure")],
    "complaints": [{"level": "error", "msg": " one "}, {"level": "fatal", "msg": "y" * 450}, end("failure")],
    "no complaints": [
        {"level": "info", "msg": "z"},
        {"level": "error", "raw_output": True, "msg": "r"},
        end("failure"),
    ],
    "parts and stages": [
        step("1", "failure", stage="Pre"),
        step("1", "failure", stepID=["1", "0"]),
        end("success"),
    ],
    "another job's step": [step("0", "failure", "lint"), end("success")],
}
RAN: dict[str, Sequence[RunCommand]] = {
    "ran": [command("0"), command("1"), command("2")],
    "nothing ran": [],
    "codes": [command("0", 3), command("1", 4), command("1", 5), command("1"), command("2", 6)],
    "another job's": [
        RunCommand(job="lint", step="1", exit_code=c, ending="exited", duration_s=1) for c in (7, 8, 0)
    ],
    "memory": [command("0"), command("1", 137, "memory")],
    "out of time": [command("0", 1, "timeout")],
}
WAYS = ((0, ""), (2, ""), (0, "no test was counted"))


def _recorded() -> str:
    lines = []
    for of, wanted in ((THREE, LOGS), (PLAIN, ("green", "no end"))):
        keys = {one.key for one in steps_with_tests(of, LEG)}
        for name in wanted:
            lines.append(f"== {name}, {len(keys)} steps with tests")
            data = b"".join(json.dumps(line).encode() + b"\n" for line in LOGS[name])
            act = read_act_log(b"[]\n{}\nnonsense\n" + b'{"matrix": 3}\n' + data, "test")
            for how, ran in RAN.items():
                for code, untested in WAYS if how == "ran" else WAYS[:1]:
                    ended = CommandResult(
                        exit_code=code, ending=Ending.EXITED, stdout=data, stderr=b"", duration_s=1
                    )
                    outcome, why, steps = decide(of, LEG, keys, act, ended, ran, untested)
                    lines.append(f"{how}, {code}, {untested or 'tested'}: {outcome}: {why}")
                told = [
                    f"{one.key} {one.title[:9]} {len(one.title)} {one.result} {one.exit_codes}" for one in steps
                ]
                lines += [
                    f"  {', '.join(told)}; {[one.tests for one in steps]} {[one.duration_s for one in steps]}"
                ]
    return "\n".join(lines) + "\n"


def test_logs_and_commands_decide_as_recorded() -> None:
    """Outcome, sentence and steps of many jobs, each with commands that ended in several ways."""
    assert _recorded() == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    GOLDEN.write_text(_recorded(), encoding="utf-8")
