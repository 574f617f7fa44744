"""How a conversation that outgrows the model's window is shortened."""

import json

import pytest

from groundup.agents.conversation import Conversation
from groundup.domain.conversations import Message, Picture, ToolCall

PICTURE = Picture(media_type="image/png", data="AA==")
OPENING = Message(role="user", content="Write it. " * 200)


def turn(number: int, text: str = "", seen: str = "", arguments: str = "{}") -> list[Message]:
    """Return a turn: a reply with one call, and its result."""
    call = ToolCall(id=f"c{number}", name="bash", arguments=arguments)
    return [
        Message(role="assistant", content=text, tool_calls=(call,), reasoning="hm", original={"x": 1}),
        Message(role="tool", content=seen, tool_call_id=f"c{number}"),
    ]


def of_turns(count: int, text: str = "", seen: str = "", arguments: str = "{}") -> Conversation:
    """Return a conversation of *count* turns after its opening."""
    talk = Conversation([OPENING])
    for number in range(count):
        talk.add(*turn(number, text, seen, arguments))
    return talk


def test_each_step_shortens_more_and_leaves_the_newest_alone() -> None:
    """Results first, then what the model wrote, then whole turns; what changes nothing is passed over."""
    talk = of_turns(10)
    steps = []
    while (step := talk.condense()) is not None:
        steps.append(step)
        talk.shorten(*step)
    assert steps == [(9, 1), (15, 1), (15, 2), (17, 3), (19, 3), (21, 2)]
    talk.settled()
    for number in range(10, 20):
        talk.add(*turn(number))
    assert talk.condense() == (29, 1), "what fitted for a while begins with the mildest step again"
    assert of_turns(1).condense() == (3, 2)


def test_a_long_result_keeps_its_ends_and_says_how_much_is_gone() -> None:
    """Up to 700 characters stay whole; a picture is named, and the opening stays."""
    for length, shown in ((700, "y" * 700), (701, f"{'y' * 300}\n[... 101 characters left out ...]\n{'y' * 300}")):
        talk = of_turns(1, text="z" * 2000, seen="y" * length)
        talk.add(Message(role="user", content="look", images=(PICTURE,)))
        talk.shorten(len(talk.messages), 1)
        opening, reply, result, picture = talk.request()
        assert (opening, reply.content, result.content) == (OPENING, "z" * 2000, shown)
        assert (picture.content, picture.images) == ("look\n[the image is left out]", ())
        assert not talk.has_images()


def test_what_the_model_wrote_is_shortened_later_and_stays_a_call() -> None:
    """Long texts in arguments are cut in their JSON; thoughts go, but for the newest turn, which goes on."""
    talk = of_turns(2, text="z" * 701, arguments=json.dumps({"command": "y" * 701, "timeout_s": 5}))
    talk.add(*turn(2, arguments="no JSON"), *turn(3, arguments="[" * 100_000))
    talk.shorten(len(talk.messages), 2)
    replies = [message for message in talk.request() if message.role == "assistant"]
    given = json.loads(replies[0].tool_calls[0].arguments)
    assert (len(replies[0].content), given["timeout_s"]) == (len(given["command"]), 5)
    assert "[... 101 characters left out ...]" in given["command"]
    assert [reply.tool_calls[0].arguments for reply in replies[2:]] == ["{}", "{}"]
    assert [message.reasoning for message in replies] == [None, None, None, "hm"]
    assert [message.original for message in replies] == [{}, {}, {}, {"x": 1}]


def test_turns_are_left_out_whole_and_counted() -> None:
    """A result never stands without its call; the model's notes stand where its turns were."""
    talk = of_turns(3)
    talk.shorten(3, 3)
    _, instead, reply, *_ = talk.request()
    assert instead.content == "[1 turns are left out here. Look at /workspace to see what there is.]"
    assert reply.tool_calls[0].id == "c1"
    talk.notes = "port 8080"
    talk.sum_up(5, "It works.")
    _, instead, reply, *_ = talk.request()
    said = "[2 turns are left out here. Your summary of them:]\nIt works.\n\n[Your notes:]\nport 8080"
    assert (instead.content, reply.tool_calls[0].id) == (said, "c2")


@pytest.mark.parametrize(("kept", "worth", "mark"), [(0, 0, 7), (300, 0, 5), (10**6, 0, None), (300, 10**6, None)])
def test_a_summary_takes_the_place_of_old_turns(kept: int, worth: int, mark: int | None) -> None:
    """The newest turns stay whole, as many as there is room for; where little would be gained, there is none."""
    talk = of_turns(3, text="word " * 100)
    assert talk.mark_for_summary(kept, worth) == mark


def test_pictures_are_left_out_for_a_model_that_sees_none() -> None:
    """The words beside them say so."""
    talk = Conversation([OPENING])
    talk.add(Message(role="user", content="look", images=(PICTURE,)), *turn(0))
    assert talk.has_images()
    talk.without_images("(no picture)")
    assert not talk.has_images()
    assert [message.content for message in talk.messages] == [OPENING.content, "look\n(no picture)", "", ""]
