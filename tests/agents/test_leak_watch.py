"""The watch on trajectories: an attempt that saw, fetched or recited the original is named with its turn."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from groundup.agents import history, loop, tools, workspace
from groundup.agents.leak_watch import LeakWatch, _texts
from groundup.trees.fingerprints import Fingerprint
from tests.agents.fakes import Memory, says

SOURCES = {f"{module.__name__}.py": Path(str(module.__file__)).read_bytes() for module in (loop, tools, history)}
ORIGINAL = Fingerprint.of("task", SOURCES)
TEXTS = [text.decode() for text in SOURCES.values()]
OTHER = Path(workspace.__file__).read_text()


def watching(given: str = "Write it.", earlier: Memory | None = None) -> LeakWatch:
    """Return a watch on an empty trajectory."""
    return LeakWatch(earlier or Memory(), ORIGINAL, given)


def reply(turn: int, text: str, name: str = "bash") -> dict[str, JsonValue]:
    """Return the fields of a reply that writes *text* by a tool."""
    message = says("Here it is.", (name, {"command": text})).message
    return {"turn": turn, "message": json.loads(message.model_dump_json())}


def test_reading_the_original_is_named() -> None:
    """Results add up, whatever pieces they come in; what is unlike it does not count."""
    watch = watching()
    watch.append("result", turn=1, call=0, content=OTHER)
    assert watch.found == ""
    for turn, start in enumerate(range(0, len(TEXTS[0]), 3000), 2):
        watch.append("result", turn=turn, call=0, content=TEXTS[0][start : start + 3000])
    assert watch.found.startswith("turn ")
    assert "results of tools hold" in watch.found
    assert watch._trajectory.of("result")[0]["content"] == OTHER  # type: ignore[attr-defined]


def test_files_that_nobody_wrote_are_named() -> None:
    """A file whose text is in no reply came from elsewhere; one that the model wrote is the model's."""
    watch = watching()
    watch.append("workspace", turn=4, files=[{"path": "a.py", "what": "added", "text": TEXTS[2]}])
    assert watch.found.startswith("turn 4: files that nobody wrote hold")
    written = watching()
    written.append("reply", **reply(1, TEXTS[2]))
    written.append("workspace", turn=1, files=[{"path": "a.py", "what": "added", "text": TEXTS[2]}])
    written.append("result", turn=2, call=0, content=TEXTS[2])
    assert "nobody" not in written.found
    assert "results" not in written.found


def test_reciting_takes_more_than_resembling() -> None:
    """A model that writes one file alike is not accused; one that writes nearly everything is, with the turn."""
    shortest = min(TEXTS, key=len)
    watch = watching()
    watch.append("reply", **reply(1, shortest))
    assert watch.found == ""
    for turn, text in enumerate(TEXTS, 2):
        watch.append("reply", **reply(turn, text))
    assert watch.found == f"turn {_crossing(watch)}: the model wrote 100% of the original"


def _crossing(watch: LeakWatch) -> int:
    return watch._turns["recited"]


def test_what_the_task_tells_does_not_count() -> None:
    """An instruction that quotes code is not the model's reading."""
    watch = watching(given="\n".join(TEXTS))
    watch.append("result", turn=1, call=0, content="\n".join(TEXTS))
    assert watch.found == ""


def test_earlier_tries_count() -> None:
    """A resumed attempt is judged by all its tries, and odd steps harm nothing."""
    before = Memory()
    before.append("result", turn=3, call=0, content="\n".join(TEXTS))
    watch = watching(earlier=before.resumed())
    for fields in ({"message": 3}, {"message": {"tool_calls": 3}}, {"message": {"tool_calls": [3]}}, {}):
        watch.append("reply", **fields)
    watch.append("workspace", files=3)
    watch.append("workspace", files=[3, {"edits": [3]}])
    assert watch.found == "turn 3: results of tools hold 100% of the original"


@pytest.mark.parametrize(
    ("kind", "turn", "fields", "texts"),
    [
        ("result", 0, {"content": "a"}, [("read", "a")]),
        ("result", 3, {}, [("read", "")]),
        ("message", 0, {"role": "user", "content": "the task"}, []),
        ("message", 2, {"role": "user", "content": "a"}, [("read", "a")]),
        ("message", 2, {"role": "tool", "content": "a"}, [("read", "a")]),
        ("message", 2, {"role": "assistant", "content": "a"}, []),
        ("reply", 1, {"message": {"content": "a"}}, [("recited", "a")]),
        ("reply", 1, {"message": {"content": None, "tool_calls": None}}, [("recited", "")]),
        ("reply", 1, {"message": "a"}, []),
        ("reply", 1, {}, []),
        (
            "reply",
            1,
            {"message": {"tool_calls": [{"arguments": '{"a": "x", "b": 1, "c": "y"}'}, 3, {"arguments": None}]}},
            [("recited", ""), ("recited", "x\ny"), ("recited", "")],
        ),
        (
            "reply",
            1,
            {"message": {"tool_calls": [{"arguments": "not json"}]}},
            [("recited", ""), ("recited", "not json")],
        ),
        (
            "reply",
            1,
            {"message": {"tool_calls": [{"arguments": '"text"'}]}},
            [("recited", ""), ("recited", "text")],
        ),
        ("reply", 1, {"message": {"tool_calls": [{"arguments": "[1]"}]}}, [("recited", ""), ("recited", "")]),
        ("workspace", 1, {"files": [{"text": "a"}, 3, {"text": None}]}, [("fetched", "a"), ("fetched", "")]),
        (
            "workspace",
            1,
            {"files": [{"edits": [{"text": "a"}, 3, {"text": None}, {}]}]},
            [("fetched", ""), ("fetched", "a"), ("fetched", ""), ("fetched", ""), ("fetched", "")],
        ),
        ("workspace", 1, {"files": [{"edits": "a"}]}, [("fetched", "")]),
        ("workspace", 1, {"files": 3}, []),
        ("other", 1, {"content": "a", "files": [], "message": {}}, []),
    ],
)
def test_where_each_text_of_a_step_came_from(
    kind: str, turn: int, fields: dict[str, JsonValue], texts: list[tuple[str, str]]
) -> None:
    """What tools return is read, what a model writes is recited, what else lies in a file was fetched."""
    assert [*_texts(kind, fields, turn)] == texts
