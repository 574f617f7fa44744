"""Budget, records and answers of one sandbox at one registry."""

import errno
from datetime import UTC, datetime

import pytest

from groundup.domain.errors import InfrastructureError, NetworkError
from groundup.registries.ledger import (
    _RECORDS,
    Fetched,
    RegistryBudgetError,
    RegistryLedger,
    RegistryRefusedError,
    UnknownPackageError,
    text,
)
from groundup.registries.server import Response

THEN, LATER = datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)


def test_a_budget_is_used_up_to_the_last_byte() -> None:
    """Each place counts once; what it really had counts in the end."""
    ledger = RegistryLedger(max_bytes=10, max_projects=2)
    ledger.charge("a", 6)
    ledger.charge("a", 9)
    ledger.charge("b", 4)
    with pytest.raises(RegistryBudgetError, match="more than 10 bytes would have been fetched"):
        ledger.charge("c", 1)
    ledger.correct("c", 0)
    ledger.correct("b", 3)
    ledger.charge("d", 1)
    for name in ("x", "y", "x"):
        ledger.admit(name)
    with pytest.raises(RegistryBudgetError, match="more than 2 projects were asked for"):
        ledger.admit("z")
    ledger.admit("y")


@pytest.mark.parametrize(
    ("error", "status", "kind", "name", "message"),
    [
        (RegistryRefusedError("forbidden"), 403, "refused", "demo", "forbidden"),
        (RegistryBudgetError("too much"), 403, "budget", "", "too much"),
        (UnknownPackageError("unheard of", THEN), 404, "unknown", "demo", "unheard of"),
        (NetworkError("away"), 502, "network", "demo", "away"),
        (InfrastructureError("broken"), 503, "network", "demo", "broken"),
        (
            OSError(errno.ENOSPC, "No space left"),
            503,
            "network",
            "demo",
            "the cache of fetched packages cannot be used: [Errno 28] No space left",
        ),
    ],
)
async def test_what_goes_wrong_becomes_an_answer_and_a_record(
    error: Exception, status: int, kind: str, name: str, message: str
) -> None:
    """Once of each kind and name; nothing is owed then."""
    ledger = RegistryLedger()

    async def work() -> Response:
        raise error

    for _ in range(2):
        assert await ledger.answered("demo", work) == Response(status, f"{message}\n".encode())
    (trouble,) = ledger.troubles
    assert (trouble.kind, trouble.name, trouble.message) == (kind, name, message)
    assert (ledger.questions, ledger.longest_wait_s()) == (2, 0.0)
    assert ledger.hidden == ({"demo": THEN} if isinstance(error, UnknownPackageError) else {})


async def test_an_answer_is_handed_on_and_owed_until_then() -> None:
    """A name is kept as far as it may be one."""
    ledger = RegistryLedger()

    async def work() -> Response:
        assert ledger.longest_wait_s() > 0
        return text(200, "here")

    assert (await ledger.answered("demo", work)).body == b"here\n"
    assert not ledger.troubles

    async def refuse() -> Response:
        raise RegistryRefusedError("no")

    await ledger.answered("x" * 300, refuse)
    assert ledger.troubles[0].name == "x" * 200


def test_records_are_kept_once_and_have_an_end() -> None:
    """A sandbox can ask without end; the first of each counts."""
    ledger = RegistryLedger()
    ledger.hide("demo", None)
    ledger.hide("demo", THEN)
    ledger.hide("demo", LATER)
    assert ledger.hidden == {"demo": THEN}
    first = Fetched(kind="file", name="a", filename="a-1.whl", bytes=1)
    for one in (first, first.but(bytes=2), first.but(filename="a-2.whl")):
        ledger.note(one)
    assert [(one.filename, one.bytes) for one in ledger.fetched] == [
        ("a-1.whl", 1),
        ("a-2.whl", 1),
    ]
    for number in range(_RECORDS + 5):
        ledger.hide(str(number), THEN)
        ledger.note(first.but(filename=str(number)))
    assert (len(ledger.hidden), len(ledger.fetched)) == (_RECORDS, _RECORDS)
