"""What a server offers, and how it refuses what it does not."""

from collections.abc import Callable

import pytest
from pydantic import JsonValue

from groundup.agents.workspace import LanguageTools
from groundup.domain.errors import UsageError
from groundup.domain.tasks import Task
from groundup.serving.offers import Offer, Split, prompt_of, splits_of, tools
from groundup.serving.session import Rules

TASKS = {name: Task(id=name, suite="toy", instruction=f"Write {name}.\n\n", data_version="d1") for name in "abc"}
SPLITS = [Split("train", "train", ("a", "b")), Split("hard", "validation", ("b", "c"))]
OFFER = Offer("toy", "1", TASKS, SPLITS, lambda task: f" {task.id} is graded.")


def test_splits_have_a_type_and_an_order() -> None:
    """Names of types are types, all else is for validation; a seed shuffles all splits alike."""
    found = splits_of("abc", ["test", "mine"], None)
    assert found == [Split("test", "test", ("a", "b", "c")), Split("mine", "validation", ("a", "b", "c"))]
    first, second = splits_of("abcdefgh", ["train", "validation"], 1)
    assert first.tasks == second.tasks == splits_of("abcdefgh", ["test"], 1)[0].tasks
    assert sorted(first.tasks) == list("abcdefgh") != list(first.tasks)


def test_tasks_are_found_by_place_name_and_record() -> None:
    """All tasks once, in the order of the splits."""
    assert OFFER.every == ("a", "b", "c")
    assert [OFFER.at("hard", index).id for index in (0, 1)] == ["b", "c"]
    assert OFFER.named("c").id == "c"
    assert OFFER.record("a") == {"task": "a", "suite": "toy", "data_version": "d1"}
    assert OFFER.of_record({"task": "b", "suite": None, "more": 1}).id == "b"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (lambda: OFFER.split(None), "Invalid split: none is named; there is train, hard"),
        (
            lambda: OFFER.split("trian"),
            "Invalid split: unknown split 'trian'; did you mean 'train'? There are hard, train",
        ),
        (lambda: OFFER.split(3), "Invalid split: unknown split '3'; choose from: hard, train"),
        (lambda: OFFER.at("train", None), "Invalid index: none is named; train has 2 tasks, counted from 0"),
        (lambda: OFFER.at("train", 2), "Invalid index: there is no 2; train has 2 tasks, counted from 0"),
        (lambda: OFFER.at("train", -1), "Invalid index: there is no -1; train has 2 tasks, counted from 0"),
        (lambda: OFFER.at("train", True), "Invalid index: there is no True; train has 2 tasks, counted from 0"),
        (
            lambda: OFFER.at("train", "1" * 30),
            f"Invalid index: there is no {'1' * 20}; train has 2 tasks, counted from 0",
        ),
        (lambda: OFFER.named("d"), "unknown task 'd'; choose from: a, b, c"),
        (lambda: OFFER.named(None), "unknown task 'None'; choose from: a, b, c"),
        (lambda: OFFER.of_record("a"), "a task_spec is an object with `task`, a name"),
        (lambda: OFFER.of_record({"task": "a", "suite": "x"}), "a: suite is 'toy' here, not 'x'"),
        (lambda: OFFER.of_record({"task": "a", "data_version": 2}), "a: data_version is 'd1' here, not '2'"),
    ],
)
def test_what_is_not_offered_is_refused_in_words(asked: Callable[[], object], says: str) -> None:
    """With what there is."""
    with pytest.raises(UsageError) as caught:
        asked()
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("rules", "ends"),
    [
        (Rules(), "/workspace. It ends your work."),
        (Rules(submits=None), "/workspace. You may go on afterwards."),
        (Rules(submits=3), "/workspace. You may do that 3 times."),
    ],
)
def test_the_prompt_says_how_often_one_may_submit(rules: Rules, ends: str) -> None:
    """After the instruction, which ends without blank lines, and the time of a command."""
    text = OFFER.prompt(TASKS["a"], rules)
    assert text.startswith("Write a.\n\n---\n\nYou work alone in a Linux sandbox, in the folder /workspace.")
    assert " a is graded." in text
    assert "ended after 180\nseconds unless" in text
    assert text.endswith(ends)
    assert prompt_of(TASKS["a"], rules, LanguageTools()) == prompt_of(TASKS["a"], rules)


@pytest.mark.parametrize(
    ("rules", "returns"),
    [
        (Rules(), "its score"),
        (Rules(shows_scores=False), "that it was done"),
        (Rules(reward="end"), "that it was done"),
    ],
)
def test_submit_says_what_it_returns(rules: Rules, returns: str) -> None:
    """A model is promised no score that it will not see."""
    bash, submit = tools(rules)
    assert (bash.name, submit.name) == ("bash", "submit")
    assert submit.description == f"Hand in what lies in /workspace. Returns {returns}."
    parameters: dict[str, JsonValue] = {"type": "object", "properties": {}}
    assert submit.parameters == parameters
