"""What people decided for each task: where its original is, what its specification leaves out.

`decisions.toml` beside the recipes has a table for each task of the benchmark. What can be measured is in the
recipes, which `recipe build` makes from this.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import Field, ValidationError

from groundup.domain.errors import TaskError
from groundup.domain.records import Record, plainly
from groundup.suites.nl2repobench.recipe import Difference, Why
from groundup.trees.edits import FileEdit

_NAME = "decisions.toml"


class TaskDecision(Record):
    """What a person decided for one task; the maker finds the rest."""

    source: str | None = Field(default=None, description="sdist:NAME[==VERSION] or git:REPOSITORY[@COMMIT]")
    without: tuple[str, ...] = Field(default=(), description="large files of a repository that no test needs")
    sure: Literal["proven", "likely", "unsure"] = Field(
        default="unsure",
        description="proven: the tests of a frozen recipe; likely: name and tree, or those of a recipe where the "
        "published image holds another revision; unsure: neither",
    )
    found: str = Field(default="", description="where the source was found, and why this version of it")
    python: str | None = Field(default=None, description="minor version, where the specification is wrong")
    add: tuple[str, ...] = Field(
        default=(), description="requirement lines, in place of what the specification says of the same name"
    )
    leave_out: tuple[str, ...] = Field(default=(), description="distributions that are not to be installed")
    complete: bool = Field(default=False, description="lock what is wanted as it stands, without what it requires")
    tests: dict[str, Any] = Field(default={}, description="keys of a recipe's [tests] as they are to be")
    version: str | None = Field(default=None, description="that the original has, where it does not say so itself")
    edits: dict[str, FileEdit] = Field(default={}, description="files of the tests -> what rules make of them")
    reasons: dict[str, Why] = Field(default={}, description="shell pattern of test ids -> why they fail here")
    differences: tuple[Difference, ...] = Field(
        default=(), description="what a published count differs by, where the maker cannot say why"
    )
    declared: dict[str, int] = Field(default={}, description="data version -> published count")
    blocked: str = Field(default="", description="why there is no recipe")
    image_only: bool = Field(default=False, description="the tests are the publishers' own, in their image")

    @property
    def lack(self) -> str:
        """What to say of a task without a recipe, after its name."""
        if self.image_only:
            return f"is graded in its published image alone (--grader official --image IMAGE): {self.blocked}"
        return f"has no recipe: {self.blocked or 'not tried yet'}"


@cache
def decisions() -> Mapping[str, TaskDecision]:
    """Return what was decided, by task."""
    text = (files("groundup.suites.nl2repobench") / _NAME).read_text(encoding="utf-8")
    try:
        return {task: TaskDecision.model_validate(table) for task, table in tomllib.loads(text).items()}
    except ValidationError as error:
        raise TaskError(f"{_NAME}: {plainly(error.errors()[0])}; mend it") from error


def refusal(task: str, why: str) -> TaskError:
    """Return what is raised where *task* lacks a recipe, for the reason *why* it needs one."""
    decided = decisions().get(task)
    if decided is not None and decided.image_only:
        return TaskError(f"{task} {decided.lack}; see docs/nl2repobench.md")
    return TaskError(f"{task} {why}; make one with `groundup recipe build {task}` (see docs/recipes.md)")
