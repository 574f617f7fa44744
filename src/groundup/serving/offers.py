"""What a server offers: splits of tasks, their records, the prompt and the tools. The same for every protocol."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from groundup.agents.tools import BASH
from groundup.agents.workspace import LanguageTools
from groundup.domain.conversations import Tool
from groundup.domain.errors import UsageError
from groundup.domain.names import shuffled, unknown
from groundup.domain.tasks import Task
from groundup.serving.session import FINISH, SUBMIT, Rules

TYPES = ("train", "validation", "test")
_PROMPT = """{instruction}

---

You work alone in a Linux sandbox, in the folder /workspace. What lies there when you submit is tested by
hidden tests.{tools} Packages can be installed with {installers}, except those that the task asks you to write;
there is no other network. The tool `bash` runs commands: each call is a new shell that starts in /workspace, what
it leaves in the background runs on, long output is cut in the middle, and a command is ended after {command_s:g}
seconds unless it names another time. The tool `submit` hands in what lies in /workspace.{submits}"""


class Split(NamedTuple):
    """Tasks under a name."""

    name: str
    type: str
    tasks: tuple[str, ...]


def splits_of(tasks: Sequence[str], wanted: Iterable[str], seed: int | None) -> list[Split]:
    """Return the *wanted* splits, each with all *tasks*: in their order, or in one that *seed* decides."""
    order = tuple(tasks) if seed is None else shuffled(tasks, seed)
    return [Split(name, name if name in TYPES else "validation", order) for name in wanted]


class Offer:
    """The tasks of one suite."""

    def __init__(
        self,
        suite: str,
        version: str,
        tasks: Mapping[str, Task],
        splits: Sequence[Split],
        told_of_grading: Callable[[Task], str] = lambda _: "",
    ) -> None:
        self._told_of_grading = told_of_grading
        self.suite = suite
        self.version = version
        self.splits = {split.name: split for split in splits}
        self._tasks = tasks

    @property
    def every(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for split in self.splits.values() for name in split.tasks))

    def split(self, name: JsonValue) -> Split:
        """Return a split. Raises `UsageError`."""
        if name is None:
            raise UsageError(f"Invalid split: none is named; there is {', '.join(self.splits)}")
        if not isinstance(name, str) or name not in self.splits:
            raise UsageError(f"Invalid split: {unknown('split', str(name)[:100], self.splits)}")
        return self.splits[name]

    def at(self, split: JsonValue, index: JsonValue) -> Task:
        """Return the task number *index* of a split. Raises `UsageError`."""
        tasks = self.split(split).tasks
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(tasks):
            wanted = f"there is no {str(index)[:20]}" if index is not None else "none is named"
            raise UsageError(f"Invalid index: {wanted}; {split} has {len(tasks)} tasks, counted from 0")
        return self._tasks[tasks[index]]

    def named(self, name: JsonValue) -> Task:
        """Return a task by its name. Raises `UsageError`."""
        if not isinstance(name, str) or name not in self.every:
            raise UsageError(unknown("task", str(name)[:100], self.every))
        return self._tasks[name]

    def record(self, name: str) -> dict[str, JsonValue]:
        """Return what a client gets of a task: flat, with the same keys and types for every task."""
        task = self._tasks[name]
        return {"task": task.id, "suite": self.suite, "data_version": task.data_version}

    def prompt(self, task: Task, rules: Rules) -> str:
        """Return the prompt of an episode that is not open yet."""
        return prompt_of(task, rules, LanguageTools(told_of_grading=self._told_of_grading(task)))

    def of_record(self, record: JsonValue) -> Task:
        """Return the task that a client means by what it got. Raises `UsageError`."""
        if not isinstance(record, dict):
            raise UsageError("a task_spec is an object with `task`, a name")
        task = self.named(record.get("task"))
        for key, known in self.record(task.id).items():
            if record.get(key) not in (None, known):
                raise UsageError(f"{task.id}: {key} is {known!r} here, not {str(record[key])[:100]!r}")
        return task


def prompt_of(task: Task, rules: Rules, tools: LanguageTools | None = None) -> str:
    """Return the prompt that a model gets at the beginning; *tools* are those of an open episode."""
    known = tools or LanguageTools()
    submits = {1: " It ends your work.", None: " You may go on afterwards."}.get(
        rules.submits, f" You may do that {rules.submits} times."
    )
    return _PROMPT.format(
        instruction=(task.instruction or "").rstrip(),
        tools=known.sentence,
        installers=known.installers,
        command_s=rules.command_s,
        submits=submits,
    )


def tools(rules: Rules) -> tuple[Tool, ...]:
    """Return the tools that a model sees."""
    returned = "its score" if rules.shows_scores and rules.reward == "submit" else "that it was done"
    return (
        BASH,
        Tool(
            name=SUBMIT,
            description=f"Hand in what lies in /workspace. Returns {returned}.",
            parameters={"type": "object", "properties": {}},
        ),
    )


TERMINAL = Tool(
    name=FINISH,
    description="Hands in what lies in /workspace and ends the episode, for a model that ends in plain text.",
    parameters={"type": "object", "properties": {}},
)
"""A tool that models do not see: a harness calls it when they stop."""
