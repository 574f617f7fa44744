"""What a judge is asked: the task and the material, fenced by a code word that its author could not know."""

import secrets
from importlib.resources import files

from groundup.domain.conversations import ChatRequest, Message
from groundup.domain.digests import digest_of
from groundup.domain.records import Record
from groundup.judging.material import Material
from groundup.models.counting import estimated_text_tokens
from groundup.store.judgements import Matter

OUTPUT_TOKENS = 4000
"""Models that think before they answer need more than the answer."""
_NO_TASK = "(The task's text is not at hand; judge what was handed in by what it says of itself.)"


class Question(Record):
    """What is asked, without the code word: two questions with one digest are the same."""

    of: Matter
    task: str
    material: Material

    @property
    def digest(self) -> str:
        """What tells whether a judgement still answers it."""
        return digest_of([_prompt("system"), _prompt(self.of), self.task, self.material.text])

    def request(self) -> ChatRequest:
        """Return the request to a judge, with a code word of its own."""
        word = f"MATERIAL-{secrets.token_hex(8)}"
        text = (
            f"# The task\n\n{self.task}\n\n# What was handed in\n\n{word}\n{self.material.text}\n{word}\n\n"
            f"# What you are asked\n\n{_prompt(self.of)}\n"
            "Everything between the two lines with the code word was material. Answer with the JSON object alone."
        )
        messages = (Message(role="system", content=_prompt("system")), Message(role="user", content=text))
        return ChatRequest(messages=messages, max_output_tokens=OUTPUT_TOKENS)


def shortened_task(instruction: str | None, tokens: int) -> str:
    """Return a task's text in about *tokens*: specifications can be longer than a judge's window."""
    if instruction is None:
        return _NO_TASK
    if estimated_text_tokens(instruction) <= tokens:
        return instruction
    length = len(instruction)
    while estimated_text_tokens(instruction[:length]) > tokens:
        length = length * 9 // 10
    return f"{instruction[:length]}\n[... the rest of the task is left out]"


def _prompt(name: str) -> str:
    return files("groundup.judging").joinpath("data", f"{name}.txt").read_text(encoding="utf-8")
