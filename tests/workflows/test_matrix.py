"""Legs of a matrix and the choice among them."""

import json

import pytest

from groundup.workflows.matrix import flat, legs, pinned
from groundup.workflows.workflow import Job, WorkflowError, read_workflow


def job(matrix: object) -> Job:
    """Return a job with this matrix."""
    document = {"jobs": {"test": {"strategy": {"matrix": matrix}, "steps": []}}}
    return read_workflow(json.dumps(document).encode(), "ci.yml").job("test")


def test_no_matrix_is_one_empty_leg() -> None:
    """A job without a matrix runs once."""
    assert legs(job({}).matrix) == ({},)


def test_legs_are_the_product_without_what_is_excluded() -> None:
    """Every combination is there, in order, but for those that an exclusion fits."""
    found = legs(job({"os": ["a", "b"], "v": [1, 2], "exclude": [{"os": "b", "v": 1}]}).matrix)
    assert found == ({"os": "a", "v": 1}, {"os": "a", "v": 2}, {"os": "b", "v": 2})


def test_includes_extend_or_add() -> None:
    """An inclusion adds keys where it changes no value of the product, and makes a leg of its own otherwise."""
    found = legs(
        job(
            {
                "fruit": ["apple", "pear"],
                "animal": ["cat", "dog"],
                "include": [
                    {"color": "green"},
                    {"color": "pink", "animal": "cat"},
                    {"fruit": "apple", "shape": "circle"},
                    {"fruit": "banana"},
                    {"fruit": "banana", "animal": "cat"},
                ],
            }
        ).matrix
    )
    assert found == (
        {"fruit": "apple", "animal": "cat", "color": "pink", "shape": "circle"},
        {"fruit": "apple", "animal": "dog", "color": "green", "shape": "circle"},
        {"fruit": "pear", "animal": "cat", "color": "pink"},
        {"fruit": "pear", "animal": "dog", "color": "green"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    )


def test_every_key_is_pinned() -> None:
    """What is wanted is taken, however a number is written; the rest is the first usual leg on Linux."""
    one = job({"os": ["windows-latest", "ubuntu-latest"], "python": ["pypy3.9", "3.10", "3.12"], "n": [1.5, 2]})
    assert pinned(one, {}) == {"os": "ubuntu-latest", "python": "3.10", "n": 1.5}
    assert pinned(one, {"python": "3.12", "n": "2.0"}) == {"os": "ubuntu-latest", "python": "3.12", "n": 2}
    assert pinned(one, {"os": "windows-latest"})["os"] == "windows-latest"


def test_values_that_no_one_has_are_refused() -> None:
    """A wanted value outside the matrix is an error that says which; a key outside it is not asked for."""
    one = job({"python": ["3.10"]})
    assert pinned(one, {"node": "20"}) == {"python": "3.10"}
    with pytest.raises(WorkflowError, match=r"no leg with python: 3\.9"):
        pinned(one, {"python": "3.9"})


def test_a_matrix_made_at_run_time_needs_values() -> None:
    """A key that is computed takes the wanted value; without one nothing is guessed."""
    one = job({"python": "${{ fromJSON(needs.x.outputs.y) }}", "os": ["ubuntu-latest"]})
    assert pinned(one, {"python": "3.12"}) == {"os": "ubuntu-latest", "python": "3.12"}
    with pytest.raises(WorkflowError, match="python"):
        pinned(one, {})
    whole = job("${{ fromJSON(needs.x.outputs.all) }}")
    assert pinned(whole, {"python": "3.12", "on.os": "linux"}) == {"python": "3.12", "on": {"os": "linux"}}
    with pytest.raises(WorkflowError, match=r"made while the workflow runs \(matrix\); name a leg with --leg"):
        pinned(whole, {})


def test_a_leg_that_is_named_whole_is_the_one() -> None:
    """All values of a leg, as `flat` writes them, lead back to it, also nested ones and beside longer legs."""
    one = job({"include": [{"a": 1, "b": 2}, {"a": 1}, {"a": {"x": "3.10", "y": [1, 2]}}, {"a": {"x": "3.9"}}]})
    for leg in legs(one.matrix):
        assert pinned(one, dict(flat(leg))) == leg
