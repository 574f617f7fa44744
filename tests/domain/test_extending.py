"""What users add may leave things out, but not misspell them."""

import pytest
from typing_extensions import override

from groundup.domain.errors import UsageError
from groundup.domain.tasks import Task
from groundup.settings import Settings
from groundup.suites.base import AtHand, Suite, Tables
from groundup.suites.opening import open_suite
from tests.runs.toy import ToySuite


def test_a_misspelt_method_is_found_when_its_class_is_defined() -> None:
    """A default never stays in force because of a typo, also where mypy is not run."""
    with pytest.raises(TypeError, match=r"Mistaken\.gradeable is marked @override"):

        class Mistaken(ToySuite):
            @override
            def gradeable(self) -> tuple[str, ...]:  # type: ignore[misc]  # what mypy says of it, too
                return ()


def test_a_part_that_nobody_would_ask_for_is_refused() -> None:
    """What withholds an original is never overlooked because the class lacks the part's name."""
    with pytest.raises(TypeError, match=r"Open\.withheld is of a suite's part ForAgents"):

        class Open(ToySuite):
            def withheld(self, task: Task) -> tuple[str, ...]:
                return ("the-original",)


def test_a_part_has_defaults_for_suites_without_it() -> None:
    """The same question has an answer for every suite."""
    suite = ToySuite(2)
    assert AtHand.of(suite).gradable() == ["task-0000", "task-0001"]
    assert AtHand.of(suite).suite is suite
    assert Tables.of(suite) is suite


def test_what_every_suite_has_must_be_there() -> None:
    """A suite without tasks, graders or references is not even made."""

    class Empty(Suite):
        name = "empty"

    with pytest.raises(TypeError, match=r"abstract methods? .*graders.*reference.*tasks"):
        Empty()  # type: ignore[abstract]  # what mypy says of it, too


def test_what_is_no_suite_is_refused_by_name() -> None:
    """A function that makes something else is a mistake of the user's, explained in a sentence."""
    with pytest.raises(UsageError, match=r"makes a ToyBuilder, which must derive from .*Suite"):
        open_suite("tests.domain.test_extending:create_builder", Settings())


def create_builder(settings: Settings) -> object:
    """Return no suite."""
    from tests.runs.toy import ToyBuilder

    return ToyBuilder()
