"""Whether an attempt saw, fetched or recited the original, by content, and in which turn.

Looks at what is recorded anyway. Each print of the original counts where it came up first: in what a tool
returned, in what a model wrote, or in a file that neither of them held. What the task itself tells does not count.
"""

import json
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from groundup.agents.base import Trajectory
from groundup.agents.history import WORKSPACE_STEP
from groundup.agents.trajectories import REPLY
from groundup.trees.fingerprints import LEAST, SHARE, Fingerprint, prints_of

RECITED = 0.4
"""Of an original's prints, in what a model wrote itself: whoever follows a specification writes some alike."""
RESEMBLES_STEP = "resembles"
_SHORT = 200
"""Shorter texts have no prints that count."""
_WORDS = {
    "read": "results of tools hold {share:.0%} of the original",
    "fetched": "files that nobody wrote hold {share:.0%} of the original",
    "recited": "the model wrote {share:.0%} of the original",
}


class LeakWatch:
    """A trajectory that looks at what is appended to it. *given* is what the task tells."""

    def __init__(self, trajectory: Trajectory, original: Fingerprint, given: str) -> None:
        self._trajectory = trajectory
        self._left = set(original.all_prints - prints_of(given.encode(errors="replace")))
        self._all = max(len(self._left), 1)
        self._shared = dict.fromkeys(_WORDS, 0)
        self._turns: dict[str, int] = {}
        self._turn = 0
        for step in trajectory.recorded():
            self._look(str(step.get("kind")), step)

    def append(self, kind: str, **fields: JsonValue) -> None:
        self._trajectory.append(kind, **fields)
        self._look(kind, fields)

    def recorded(self) -> tuple[Mapping[str, JsonValue], ...]:
        """Return the steps of earlier tries."""
        return self._trajectory.recorded()

    @property
    def found(self) -> str:
        """What was found, in words, with the turn; empty: nothing."""
        parts = [
            f"turn {turn}: {_WORDS[how].format(share=self._shared[how] / self._all)}"
            for how, turn in sorted(self._turns.items(), key=lambda one: one[1])
        ]
        return "; ".join(parts)

    def _look(self, kind: str, fields: Mapping[str, JsonValue]) -> None:
        if isinstance(turn := fields.get("turn"), int):
            self._turn = turn
        for how, text in _texts(kind, fields, self._turn):
            if len(text) < _SHORT:
                continue
            new = self._left & prints_of(text.encode(errors="replace"))
            self._left -= new
            self._shared[how] += len(new)
            enough = RECITED if how == "recited" else SHARE
            if self._shared[how] >= max(LEAST, enough * self._all):
                self._turns.setdefault(how, self._turn)


def _texts(kind: str, fields: Mapping[str, JsonValue], turn: int) -> Iterator[tuple[str, str]]:
    """Yield what a step says, with how the attempt came by it."""
    if kind == "result" or (kind == "message" and turn and fields.get("role") in ("tool", "user")):
        yield "read", str(fields.get("content", ""))
    elif kind == REPLY and isinstance(message := fields.get("message"), dict):
        yield "recited", str(message.get("content") or "")
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                yield "recited", _told(str(call.get("arguments") or ""))
    elif kind == WORKSPACE_STEP and isinstance(files := fields.get("files"), list):
        for changed in files:
            if isinstance(changed, dict):
                yield "fetched", str(changed.get("text") or "")
                edits = changed.get("edits")
                for edit in edits if isinstance(edits, list) else ():
                    yield "fetched", str(edit.get("text") or "") if isinstance(edit, dict) else ""


def _told(arguments: str) -> str:
    """Return the texts in a call's arguments, as they were meant."""
    try:
        document = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    values = document.values() if isinstance(document, dict) else (document,)
    return "\n".join(value for value in values if isinstance(value, str))
