"""`domain.digests`: one value, one digest, in every process."""

import hashlib
import math
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Annotated

import pytest

from groundup.domain.digests import LATER, canonical_json, digest_bytes, digest_of, short
from groundup.domain.records import Record
from groundup.domain.subjects import Outcome

ONCE = """
from groundup.domain.digests import digest_of
from groundup.domain.records import Record

class Held(Record):
    names: frozenset[tuple[str, int]]

print(digest_of([Held(names=frozenset((f"name{n}", n) for n in range(50))), {"b", "a"}]))
"""


class Mixed(Record):
    """A record of everything that a digest may meet."""

    path: Path
    content: bytes
    outcome: Outcome
    numbers: tuple[int | float | None, ...]


def test_sets_have_the_same_digest_in_every_process() -> None:
    """The order in which a process happens to keep a set changes nothing, wherever in a record it lies."""
    digests = {
        subprocess.run(
            [sys.executable, "-c", ONCE],
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(3)
    }
    assert len(digests) == 1


def test_every_field_counts() -> None:
    """Records have one text; bytes that are no text are distinguished; equal records have equal digests."""
    record = Mixed(path=Path("a/b"), content=b"\xff", outcome=Outcome.LIMIT, numbers=(1, 0.5, None))
    assert canonical_json(record).startswith(b'{"content":"sha256:')
    assert canonical_json(record).endswith(b',"numbers":[1,0.5,null],"outcome":"limit","path":"a/b"}')
    assert digest_of(record) == digest_of(record.model_copy())
    assert digest_of(record) != digest_of(record.but(content=b"\xfe"))


def test_the_text_is_canonical() -> None:
    """Order of keys and spaces do not matter; letters stay letters."""
    assert canonical_json({"b": [1, "é"], "a": {"y", "x"}}) == '{"a":["x","y"],"b":[1,"é"]}'.encode()


def test_each_kind_of_value_has_its_text() -> None:
    """Keys become texts, lists and tuples are one, and what is no number is refused."""
    moment = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    value = {
        1: (True, None, 1.5),
        "e": Outcome.LIMIT,
        "p": PurePosixPath("a/b"),
        "t": moment,
        "b": b"",
        "r": range(2),
    }
    empty = hashlib.sha256(b"").hexdigest()
    assert canonical_json(value).decode() == (
        f'{{"1":[true,null,1.5],"b":"sha256:{empty}","e":"limit","p":"a/b","r":[0,1],'
        '"t":"2030-01-02 03:04:05+00:00"}'
    )
    assert canonical_json(type("Text", (str,), {})("a")) == b'"a"'
    assert (short("sha256:" + "0123456789abcdef0"), short("none")) == ("0123456789abcdef", "")
    assert digest_of(b"") == digest_bytes(f'"sha256:{empty}"'.encode())
    for number in (math.nan, math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            canonical_json([number])
    with pytest.raises(TypeError, match="not JSON serializable"):
        canonical_json(object())


def test_halves_of_surrogate_pairs_have_a_digest() -> None:
    """A stranger's JSON can hold them, and two of them differ."""
    assert digest_of({"name": "\ud800"}) != digest_of({"name": "\ud801"})


def test_a_field_that_came_later_changes_no_digest_at_its_default() -> None:
    """Runs that were begun before a record got a field keep their digest; any other value counts."""

    class Before(Record):
        name: str = "a"

    class After(Record):
        name: str = "a"
        rounds: Annotated[int, LATER] = 1

    assert digest_of(After()) == digest_of(Before())
    assert digest_of(After(rounds=2)) != digest_of(Before())
