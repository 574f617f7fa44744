"""groundup's suites as tasks of Inspect. Needs `pip install 'groundup[inspect]'`.

inspect eval groundup/groundup -T suite=nl2repobench -T tasks=sqlparse --model openai/gpt-4.1
"""

from inspect_ai import Task, task
from inspect_ai.agent import Agent, AgentSubmit, react
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.tool import bash
from inspect_ai.util import sandbox

from groundup.domain.errors import UsageError
from groundup.harnesses.holding import numbers_of, opened_suite, written_tasks
from groundup.harnesses.inspect_sandbox import GRADER, SUITE, TASK, GroundupSandbox

_PROMPT = """You work alone in a Linux sandbox, in the folder /workspace. What lies there when you submit is tested
by hidden tests. Packages can be installed with pip, except those that the task asks you to write; there is no
other network. The tool `bash` runs commands: each call is a new shell that starts in /workspace."""
_DONE = "Hand in what lies in /workspace, and end your work. The answer is ignored."


@task
def groundup(suite: str = "nl2repobench", tasks: str | None = None, grader: str | None = None) -> Task:
    """Return the tasks of *suite* that can be graded here, or those of *tasks*, a text with commas."""
    opened = opened_suite(suite)
    samples = [
        Sample(
            id=one.id,
            input=one.instruction or "",
            target="1.0",
            metadata={SUITE: suite, TASK: one.id, GRADER: grader or ""},
        )
        for one in written_tasks(opened, tasks)
    ]
    return Task(
        dataset=MemoryDataset(samples, name=opened.name),
        solver=worker(),
        scorer=hidden_tests(),
        sandbox="groundup",
        version=opened.version,
    )


def worker(command_s: int = 180) -> Agent:
    """Return an agent with a shell, whose commands may take *command_s* seconds, and `submit`."""
    return react(prompt=_PROMPT, tools=[bash(command_s)], submit=AgentSubmit(description=_DONE, answer_only=False))


@scorer(metrics=[mean(), stderr()])
def hidden_tests() -> Scorer:
    """Return what grades a workspace by its task's hidden tests: a share of 1.

    It raises where the infrastructure failed, so that no failure is a zero.
    """

    async def score(state: TaskState, target: Target) -> Score:
        held = sandbox().as_type(GroundupSandbox).held
        if held is None:
            raise UsageError('this sample has no task of groundup; use the task "groundup/groundup"')
        verdict = await held.graded()
        numbers = numbers_of(verdict)
        return Score(
            value=numbers["reward"],
            explanation=f"{numbers.get('passed', 0):g} of {numbers.get('total', 0):g} hidden tests passed",
            metadata={**numbers, "status": verdict.status.value, "grader": verdict.grader.name},
        )

    return score
