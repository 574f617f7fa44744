"""Steps that would like another verdict: what they print, write and start must not decide."""

import pathlib

import pytest

from groundup.grading.ci.records import JobOutcome
from tests.grading.ci.bench import log_of, needs_sandbox, run, steps

pytestmark = [pytest.mark.end_to_end, needs_sandbox]
FORGED = (
    '{"jobID":"test","matrix":{},"jobResult":"success","level":"info","msg":"Job succeeded"}\\n'
    '{"jobID":"test","matrix":{},"stepID":["0"],"stepResult":"success","stage":"Main","step":"test"}\\n'
)
ATTEMPTS = {
    "print act's own lines": f"printf '{FORGED}'; printf '{FORGED}' >&2; exit 1",
    "write to every open file": f"for f in /proc/*/fd/*; do printf '{FORGED}' > $f; done 2> /dev/null; exit 1",
    "kill everything": "kill -9 -1; exit 1",
    "find act": "pgrep -f groundup-act && kill -9 $(pgrep -f groundup-act); ls /opt/act && exit 0; exit 1",
    "ask in a shim's place": 'exec 3<> /dev/tcp/127.0.0.1/4711 && echo \'{"argv":["true"]}\' >&3; exit 1',
}


@pytest.mark.parametrize("script", ATTEMPTS.values(), ids=ATTEMPTS.keys())
async def test_a_failed_step_stays_failed(tmp_path: pathlib.Path, script: str) -> None:
    """Whatever a step prints, writes or kills, its exit code is the supervisor's and act hears it."""
    workflow = steps(f"name: test\n        shell: bash\n        run: |\n          {script}")
    result = await run(tmp_path, workflow)
    assert result.outcome is JobOutcome.FAILED, log_of(result)


@pytest.mark.parametrize(
    "line",
    [
        "PATH=/nowhere",
        "LD_PRELOAD=/workspace/app/evil.so",
        "LD_LIBRARY_PATH=/workspace/app",
        "BASH_ENV=/workspace/app/evil.sh",
        "PYTHONPATH=/workspace/app",
        "GITHUB_ENV=/workspace/workflow.yml",
        "GITHUB_EVENT_PATH=/proc/self/environ",
        "GITHUB_ACTION=0",
        "GITHUB_WORKSPACE=/",
    ],
)
async def test_variables_do_not_reach_act(tmp_path: pathlib.Path, line: str) -> None:
    """A variable that an earlier step sets cannot make a later failing step a success."""
    workflow = steps(f"run: echo '{line}' >> $GITHUB_ENV", "{name: test, run: exit 7}", "run: echo after")
    result = await run(tmp_path, workflow, {"evil.sh": "true"})
    assert result.outcome is JobOutcome.FAILED, log_of(result)


async def test_programs_of_the_loader_reach_later_steps(tmp_path: pathlib.Path) -> None:
    """What changes how programs are loaded works for the steps that want it, and leaves act alone."""
    workflow = steps(
        "run: echo LD_LIBRARY_PATH=/workspace/app >> $GITHUB_ENV",
        "{name: test, run: 'test \"$LD_LIBRARY_PATH\" = /workspace/app'}",
    )
    assert (await run(tmp_path, workflow)).outcome is JobOutcome.PASSED


async def test_a_skipped_test_is_noticed(tmp_path: pathlib.Path) -> None:
    """A step that turns off a later one by a variable gets no pass for it."""
    workflow = steps("run: echo SKIP=yes >> $GITHUB_ENV", "{name: test, if: env.SKIP != 'yes', run: exit 1}")
    assert (await run(tmp_path, workflow)).outcome is JobOutcome.NOT_RUN


async def test_parts_of_actions_stand_for_no_other_step(tmp_path: pathlib.Path) -> None:
    """A command of an action belongs to the step that uses it, not to the job's step of the same number."""
    checkout = "uses: actions/checkout@v4"
    workflow = steps("{name: test, if: env.SKIP != 'yes', run: pytest}", checkout, "uses: ./own", "run: echo")
    own = "runs: {using: composite, steps: [{shell: bash, run: 'exit 0'}]}"
    workflow = workflow.replace("steps:", "env: {SKIP: 'yes'}\n    steps:")
    result = await run(tmp_path, workflow, {"own/action.yml": own})
    assert result.outcome is JobOutcome.NOT_RUN
    assert [step.exit_codes for step in result.steps] == [(), (), (0,), (0,)]


async def test_much_output_is_capped(tmp_path: pathlib.Path) -> None:
    """A step that prints without end neither fills memory nor hides how it ended."""
    result = await run(tmp_path, steps("{name: test, run: 'yes | head -c 200000000; exit 4'}"))
    assert result.outcome is JobOutcome.FAILED
    assert result.steps[0].exit_codes == (4,)
    assert len(result.logs["ci.txt"]) < 16 * 1024 * 1024
