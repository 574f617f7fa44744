"""A conversation that outgrows the model's window: old turns are summed up, or shortened more and more.

Owns the messages and how they are shortened. Shortening happens in large steps and reaches back from a mark, so
that between two steps the beginning of every request stays the same and can be cached by the endpoint.
"""

import json

from groundup.domain.conversations import ChatRequest, Message, ToolCall
from groundup.models.prices import estimated_tokens

_HEAD, _TAIL = 300, 300
_DROP = 3
_STEPS = ((12, 1), (6, 1), (6, 2), (4, _DROP), (2, _DROP), (0, 2))
"""One after the other: how many of the newest messages are left alone, and how hard the others are shortened: 1
what tools returned, 2 also what the model wrote, 3 dropped."""


class Conversation:
    """All messages of an attempt. The *opening* ones are never shortened."""

    def __init__(self, opening: list[Message]) -> None:
        self.messages = list(opening)
        self._opening = len(opening)
        self._marks = dict.fromkeys((1, 2, _DROP), self._opening)
        """How far each hardness reaches."""
        self._step = 0
        self._summary = ""
        self.notes = ""
        """What the model wants to keep word for word when its old turns are gone."""

    def add(self, *messages: Message) -> None:
        self.messages += messages

    def has_images(self) -> bool:
        """Whether the next request shows any."""
        return any(message.images for message in self.request())

    def without_images(self, instead: str) -> None:
        """Leave all images out; their messages say *instead*."""
        self.messages = [
            message.but(images=(), content=f"{message.content}\n{instead}") if message.images else message
            for message in self.messages
        ]

    def condense(self) -> tuple[int, int] | None:
        """Shorten by the next step that changes something; return its mark and hardness, None without one."""
        while self._step < len(_STEPS):
            kept, hardness = _STEPS[self._step]
            self._step += 1
            mark = max(len(self.messages) - kept, self._opening)
            if hardness == _DROP:
                mark = self._turn_start(mark)
            if mark > self._marks[hardness]:
                self.shorten(mark, hardness)
                return mark, hardness
        return None

    def settled(self) -> None:
        """Say that the conversation fits as it is: the next time the mildest step comes first."""
        self._step = 0

    def shorten(self, mark: int, hardness: int) -> None:
        """Shorten what lies before *mark* so hard, as `condense` returned it."""
        for each in range(1, hardness + 1):
            self._marks[each] = max(self._marks[each], mark)

    def mark_for_summary(self, kept_tokens: int, worth_tokens: int) -> int | None:
        """Return before which message a summary takes the place of all: newest turns of *kept_tokens* stay whole.

        None where that would make room for less than *worth_tokens*.
        """
        mark = size = len(self.messages)
        for index in range(size - 1, self._marks[_DROP] - 1, -1):
            if _tokens(self.messages[index:]) > kept_tokens:
                break
            if self.messages[index].role == "assistant":
                mark = index
        gone = self.messages[self._marks[_DROP] : mark]
        return mark if gone and _tokens(gone) >= worth_tokens else None

    def sum_up(self, mark: int, summary: str) -> None:
        """Let *summary* take the place of what lies before *mark*, but for the opening."""
        self._summary = summary
        self.shorten(mark, _DROP)

    def request(self) -> tuple[Message, ...]:
        """Return what a model is sent."""
        start = self._marks[_DROP]
        shown = list(self.messages[: self._opening])
        if start > self._opening:
            shown.append(Message(role="user", content=self._instead(start)))
        last = max((i for i, message in enumerate(self.messages) if message.role == "assistant"), default=-1)
        for index in range(start, len(self.messages)):
            hardness = sum(index < self._marks[each] for each in (1, 2))
            message = _shortened(self.messages[index], hardness) if hardness else self.messages[index]
            if hardness == 2 and index != last:  # endpoints want the thoughts of the turn that goes on
                message = message.but(reasoning=None, original={})
            shown.append(message)
        return tuple(shown)

    def _instead(self, start: int) -> str:
        """Return what stands for the turns before *start*."""
        dropped = sum(message.role == "assistant" for message in self.messages[:start])
        if self._summary:
            said = f"[{dropped} turns are left out here. Your summary of them:]\n{self._summary}"
        else:
            said = f"[{dropped} turns are left out here. Look at /workspace to see what there is.]"
        return f"{said}\n\n[Your notes:]\n{self.notes}" if self.notes else said

    def _turn_start(self, index: int) -> int:
        """Return the first index from *index* on where a turn begins: a result never stands without its call."""
        while index < len(self.messages) and self.messages[index].role != "assistant":
            index += 1
        return index


def _tokens(messages: list[Message]) -> int:
    return estimated_tokens(ChatRequest(messages=tuple(messages)))


def _shortened(message: Message, hardness: int) -> Message:
    if message.role == "assistant" and hardness >= 2:
        calls = tuple(_short_call(call) for call in message.tool_calls)
        return message.rewritten(_cut(message.content), calls)
    if message.role in ("tool", "user"):
        left_out = "\n[the image is left out]" if message.images else ""
        return message.but(content=_cut(message.content) + left_out, images=())
    return message


def _short_call(call: ToolCall) -> ToolCall:
    """Return *call* with long texts cut: its arguments stay JSON."""
    try:
        document = json.loads(call.arguments)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        return call.but(arguments="{}")
    short = {name: _cut(value) if isinstance(value, str) else value for name, value in document.items()}
    return call.but(arguments=json.dumps(short, ensure_ascii=False))


def _cut(text: str) -> str:
    if len(text) <= _HEAD + _TAIL + 100:
        return text
    return f"{text[:_HEAD]}\n[... {len(text) - _HEAD - _TAIL} characters left out ...]\n{text[-_TAIL:]}"
