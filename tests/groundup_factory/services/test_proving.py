"""When a service counts as proven."""

import pytest

from groundup.domain.errors import TaskError
from groundup_factory.services.proving import Proof, ProofRules, TriedMutant, refuse_unproven


def proof(killed: int = 1, lived: int = 1, **counts: object) -> Proof:
    """Return a proof that holds, but for what is given."""
    mutants = [
        TriedMutant(kind="status", place="app.py:1", told="", passed=3 - noticed, asked=3, killed=noticed)
        for noticed in [True] * killed + [False] * lived
    ]
    held = {"tests": 3, "original": (3, 3), "deployed": (True, True), "nop": 0, "stubs": {"200": 0, "404": 0}}
    return Proof.model_validate({**held, **counts, "mutants": mutants})


def test_a_proof_that_holds_is_not_refused() -> None:
    """The original passes all in each start, a stub nothing, and half of the mutants are noticed."""
    refuse_unproven(proof(), ProofRules())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (proof(original=(3, 2)), "passes 3, 2 of its 3 tests in 2 fresh starts"),
        (proof(deployed=(True, False)), "it starts too slowly"),
        (proof(nop=1), "a stub passes 1 of 3 tests"),
        (proof(stubs={"200": 0, "404": 2}), "a stub passes 2 of 3 tests"),
        (proof(killed=0, lived=0), "no mutant could be made"),
        (proof(killed=1, lived=2), "the tests notice 1 of 3 mutants"),
    ],
)
def test_a_service_that_is_not_proven_says_what_lacks(given: Proof, says: str) -> None:
    """Its task would reward a stub, or lose tests by chance."""
    with pytest.raises(TaskError, match=says):
        refuse_unproven(given, ProofRules())
