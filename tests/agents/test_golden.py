"""What is read of replies, to the byte: those of known kind, cut short, with other ends of lines, and odd ones.

`python -m tests.agents.test_golden` writes the files in golden/ anew: read what changed, for agents will see it.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from groundup.agents.answers import blocks, heading_path, read_files
from groundup.agents.replies import read_reply
from groundup.domain.conversations import Finish
from tests.agents.fakes import says
from tests.agents.test_replies import REPLIES, SEEDS

GOLDEN = Path(__file__).parent / "golden"


def told_of_blocks() -> Iterator[str]:
    """Yield what fences give, block by block, and the files and problems of all."""
    for text in _given("fences"):
        yield repr(text)
        for block in blocks(text):
            yield f"    {block.path!r} {block.language!r} {block.closed} {block.content!r}"
        found = read_files(text)
        yield f"    {dict(found.files)} {found.problems} {found.outside}"


def told_of_lines() -> Iterator[str]:
    """Yield the path that each line gives."""
    for line in _given("headings"):
        yield f"{line!r:.60}: {heading_path(line)!r:.60}"


def told_of_replies() -> Iterator[str]:
    """Yield what replies are: as they are, cut off, without their last third, and with other ends of lines."""
    finishes: tuple[Finish, ...] = ("stop", "length", "content_filter")
    for text in _given("odd"):
        yield repr(text)
        yield from (f"    {finish}: {_read(text, finish)}" for finish in finishes)
    for name, case in REPLIES.items():
        yield name
        for text in (case.text, case.text[: len(case.text) * 2 // 3], case.text.replace("\n", "\r\n")):
            yield f"    {_read(text, case.finish)}"


def _given(name: str) -> list[str]:
    """Return the texts in a file of golden/, each a literal of Python."""
    lines = (GOLDEN / f"{name}.in").read_text(encoding="utf-8").splitlines()
    return [ast.literal_eval(line) for line in lines]


def _read(text: str, finish: Finish) -> str:
    found = read_reply(says(text).but(finish=finish), SEEDS.get)
    return f"{found.kind} {dict(found.files)} {found.problems}"


RECORDS: Mapping[str, Callable[[], Iterator[str]]] = {
    "blocks": told_of_blocks,
    "lines": told_of_lines,
    "replies": told_of_replies,
}


@pytest.mark.parametrize("name", RECORDS)
def test_replies_are_read_as_ever(name: str) -> None:
    """Every file, every block, and every sentence on what was not taken."""
    assert [*RECORDS[name]()] == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    for name, told in RECORDS.items():
        (GOLDEN / f"{name}.txt").write_text("".join(f"{line}\n" for line in told()), encoding="utf-8")
