"""What is read of replies, to the byte: of known kind, cut short, with other ends of lines, and odd ones.

And how conversations are shortened.

`python -m tests.agents.test_golden` writes the files in golden/ anew: read what changed, for agents will see it.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from groundup.agents.answers import blocks, heading_path, read_files
from groundup.agents.conversation import Conversation
from groundup.agents.replies import read_reply
from groundup.domain.conversations import Finish, Message, ToolCall
from tests.agents.fakes import says
from tests.agents.test_conversation import PICTURE
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


def told_of_conversations() -> Iterator[str]:
    """Yield each request while a conversation with long texts is shortened step by step, and summed up."""
    for arguments in ('{"command": "' + "x" * 900 + '", "seconds": 3}', "[1]", "no JSON", "{}"):
        talk = Conversation([Message(role="system", content="s" * 900), Message(role="user", content="u" * 900)])
        for number in range(12):
            call = ToolCall(id=f"c{number}", name="bash", arguments=arguments)
            talk.add(
                Message(role="assistant", content="a" * 800, tool_calls=(call,), reasoning="r", original={"o": 1}),
                Message(role="tool", content="t" * 701, tool_call_id=call.id),
            )
            if number % 4 == 0:
                talk.add(Message(role="user", content="look", images=(PICTURE,)))
        yield f"arguments {arguments:.20}, images {talk.has_images()}"
        for kept, worth in ((0, 0), (600, 0), (2000, 500), (2000, 5000), (99999, 0)):
            yield f"  a summary that keeps {kept} and is worth {worth}: {talk.mark_for_summary(kept, worth)}"
        while (step := talk.condense()) is not None:
            yield f"  {step}: {' '.join(map(_in_short, talk.request()))}"
        talk.settled()
        talk.notes = "mine"
        yield f"  again {talk.condense()}: {' '.join(map(_in_short, talk.request()))}"
        talk.sum_up(len(talk.messages) - 2, "All done.")
        yield f"  summed up: {' '.join(map(_in_short, talk.request()))}"
        yield f"  {talk.request()[2].content!r}"
        talk.without_images("[gone]")
        yield f"  without images: {talk.has_images()} {sum('[gone]' in one.content for one in talk.messages)}"


def _in_short(message: Message) -> str:
    texts = [len(message.content), *(len(call.arguments) for call in message.tool_calls)]
    marks = "".join(mark for mark, given in (("r", message.reasoning), ("o", message.original)) if given)
    return f"{message.role[0]}{'+'.join(map(str, texts))}{marks}{'i' * len(message.images)}"


RECORDS: Mapping[str, Callable[[], Iterator[str]]] = {
    "blocks": told_of_blocks,
    "lines": told_of_lines,
    "replies": told_of_replies,
    "conversations": told_of_conversations,
}


@pytest.mark.parametrize("name", RECORDS)
def test_what_agents_read_and_send_is_as_ever(name: str) -> None:
    """Every file, every block, every sentence on what was not taken, and every message that was shortened."""
    assert [*RECORDS[name]()] == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    for name, told in RECORDS.items():
        (GOLDEN / f"{name}.txt").write_text("".join(f"{line}\n" for line in told()), encoding="utf-8")
