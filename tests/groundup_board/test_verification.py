"""What a verification says, sentence by sentence."""

import pytest

from groundup.domain.errors import UsageError
from groundup_board.verification import Differing, Verification, drawn_tasks, verify

ODD = Differing(attempt="a/0", claimed="graded 1 / 2", found=("graded 2 / 2",))


def found(**changes: object) -> Verification:
    """Return a verification of two of ten tasks that holds, with changes."""
    fields: dict[str, object] = {
        "run": "mine",
        "seed": 7,
        "tasks": ("a", "b"),
        "of": 10,
        "attempts": 4,
        "differing": (),
        "unsteady": (),
        "times": 3,
        "tolerance": 0.0,
        "claimed": 0.5,
        "found": 0.75,
        "sandbox": "bubblewrap",
        "notes": (),
        "unknown": (),
    }
    return Verification.model_validate({**fields, **changes})


MOST = "; with 95 % confidence fewer than 78 % of all tasks differ"
SAME = "the numbers hold: 4 attempts at 2 of 10 tasks came out the same"


@pytest.mark.parametrize(
    ("changes", "holds", "says"),
    [
        ({}, True, SAME + MOST),
        ({"of": 2}, True, "the numbers hold: 4 attempts at 2 of 2 tasks came out the same"),
        (
            {"tasks": ("a",), "of": 1, "attempts": 1},
            True,
            "the numbers hold: 1 attempt at 1 of 1 task came out the same",
        ),
        (
            {"references": {"a/0": "oracle", "b/0": "nop", "b/1": "oracle"}},
            True,
            f"{SAME}; 3 of these submissions are the suite's own (nop, oracle){MOST}",
        ),
        (
            {"unsteady": (ODD,)},
            True,
            f"{SAME}, of which 1 vary between gradings; the sample claims 50.0 % and was graded 75.0 %{MOST}",
        ),
        ({"unsteady": (ODD,), "found": None}, True, SAME + MOST),
        ({"differing": (ODD,), "times": 1}, False, "the numbers do not hold: 1 of 4 attempts came out otherwise"),
        (
            {"differing": (ODD, ODD), "unknown": ("a/1",)},
            False,
            "the numbers do not hold: 2 of 4 attempts came out otherwise in each of 3 gradings",
        ),
        ({"unknown": ("a/1",)}, False, "not verified: 1 attempt could not be graded here, 4 could"),
        ({"attempts": 0}, False, "not verified: 0 attempts could not be graded here, 0 could"),
        ({"refused": ("one", "two"), "differing": (ODD,)}, False, "the bundle is refused: one; two"),
    ],
)
def test_a_verification_in_one_sentence(changes: dict[str, object], holds: bool, says: str) -> None:
    """What cannot be true comes first, then what differs, then what nobody knows; and what is left open."""
    verification = found(**changes)
    assert verification.holds is holds
    assert verification.conclusion == says


@pytest.mark.parametrize(
    "wrong", [{"sample": 0}, {"times": 0}, {"tolerance": -0.01}, {"tolerance": 1.0}, {"tolerance": float("nan")}]
)
def test_what_verifies_nothing_is_refused(wrong: dict[str, float]) -> None:
    """Before the bundle is read."""
    with pytest.raises(UsageError) as caught:
        verify("absent.tar.gz", **wrong)  # type: ignore[arg-type]  # wrong values are what this is about
    assert str(caught.value) == "sample and times are at least 1, tolerance is a share from 0 to less than 1"
    with pytest.raises(UsageError, match="is no file"):
        verify("absent.tar.gz", sample=1, times=1, tolerance=0.99)


def test_a_seed_draws_the_same_tasks_in_order() -> None:
    """As many as there are at most."""
    tasks = [f"t{number}" for number in range(9)]
    assert drawn_tasks(tasks, 3, 1) == drawn_tasks(tasks, 3, 1) == ("t1", "t2", "t8")
    assert drawn_tasks(tasks, 99, 1) == tuple(tasks)
