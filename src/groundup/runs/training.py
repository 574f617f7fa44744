"""A run's conversations as training data: which attempts, and each as a row with its reward.

Rows are flat but for their conversation, with the same keys and types everywhere. `messages` are Chat Completions'
own: the arguments of calls are JSON texts. Tokens and log-probabilities are there where the endpoint gave them.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import Field, JsonValue

from groundup.agents.trajectories import REPLY, Step, of_clients, paid_for, reply_of
from groundup.domain.conversations import ChatReply
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import counted
from groundup.store.attempts import read_trajectory
from groundup.store.files import write_atomically
from groundup.store.folder import RunFolder
from groundup.store.records import ConfigFile, VerdictLine

Row = dict[str, JsonValue]
Lines = Mapping[AttemptKey, VerdictLine]

_TOOLS = {"bash": {"command": "string", "timeout_s": "number"}, "submit": {}}
_NEEDED = {"bash": ["command"]}


class ChosenEpisodes(Record):
    """Which attempts are written."""

    min_score: float | None = Field(default=None, ge=0, le=1, description="only with at least this reward")
    best: int | None = Field(default=None, ge=1, description="of each task so many, with the highest rewards")
    failures: bool = Field(default=False, description="only with a reward below 1")

    def of(self, keys: Iterable[AttemptKey], lines: Lines) -> list[AttemptKey]:
        """Return those of *keys*, in order. An attempt without a reward passes only where nothing is asked."""
        rewards = {key: reward_of(lines.get(key)) for key in keys}
        left = [key for key in rewards if self._fits(rewards[key])]
        if self.best is None:
            return left
        of_task: defaultdict[str, list[AttemptKey]] = defaultdict(list)
        for key in left:
            of_task[key.task].append(key)
        best = {
            key
            for several in of_task.values()
            for key in sorted(several, key=lambda key: (-(rewards[key] or 0.0), key.index))[: self.best]
        }
        return [key for key in left if key in best]

    def _fits(self, reward: float | None) -> bool:
        if reward is None:
            return self == ChosenEpisodes()
        return reward >= (self.min_score or 0.0) and not (self.failures and reward >= 1)


def reward_of(line: VerdictLine | None) -> float | None:
    """Return what the attempt counts; None where it has no line or no score."""
    return None if line is None else counted(line.verdict)


def scored(line: VerdictLine | None) -> Row:
    """Return reward and counts."""
    verdict = None if line is None else line.verdict
    score = None if verdict is None else verdict.score
    return {
        "reward": reward_of(line),
        "passed": score.numerator if score else None,
        "total": score.denominator if score else None,
        "status": verdict.status.value if verdict else "none",
    }


def write_rows(run: RunFolder, keys: Sequence[AttemptKey], destination: Path) -> list[AttemptKey]:
    """Write the rows of *keys* into one file in *destination*; return those that have a conversation."""
    config, lines = run.config(), run.latest()
    written, rows = [], list[Row]()
    for key in keys:
        steps = of_clients(read_trajectory(run.attempt(key).trajectory_file))
        if any(reply_of(step) for step in steps):
            rows.append(_row(key, steps, config, lines.get(key)))
            written.append(key)
    destination.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    write_atomically(destination / f"{config.run_id}.jsonl", text.encode(errors="replace"))
    return written


def _row(key: AttemptKey, steps: Sequence[Step], config: ConfigFile, line: VerdictLine | None) -> Row:
    paid, reward = paid_for(steps), reward_of(line)
    steps = main_conversation(steps)
    rewards: list[JsonValue] = [step["score"] for step in steps if "score" in step]
    replies = [reply for step in steps if (reply := reply_of(step))]
    tokens: list[JsonValue] = [reply.tokens.model_dump(mode="json") for reply in replies]
    return {
        "messages": _system_first(_messages(steps)),
        "tools": json.dumps(_tools(steps, replies)),
        **scored(line),
        "rewards": rewards or ([] if reward is None else [reward]),
        "task": key.task,
        "index": key.index,
        "run": config.run_id,
        "suite": config.suite_name,
        "grader": config.grader,
        "agent": config.configuration.subject.name,
        "model": config.configuration.subject.model_name or "",
        "outcome": line.outcome.value if line else "",
        "turns": len(replies),
        "input_tokens": paid.usage.input_tokens,
        "output_tokens": paid.usage.output_tokens,
        "cost_usd": paid.cost_usd,
        "tokens": tokens if any(reply.tokens.ids or reply.tokens.logprobs for reply in replies) else [],
    }


def _messages(steps: Iterable[Step]) -> Iterator[Row]:
    """Yield the conversation; what tools did follows the reply that called them."""
    calls: dict[JsonValue, Sequence[str]] = {}
    for step in steps:
        reply = reply_of(step)
        if step.get("kind") == "message":
            answered = str(step.get("tool_call_id") or "")
            yield _message(str(step.get("role") or "user"), str(step.get("content") or ""), tool_call_id=answered)
        elif reply is not None:
            said = reply.message
            calls[step.get("turn")] = [call.id for call in said.tool_calls]
            made: list[JsonValue] = [
                {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
                for one in said.tool_calls
            ]
            yield _message("assistant", said.content, tool_calls=made, reasoning_content=said.reasoning or "")
        elif step.get("kind") == "result":
            ids, number = calls.get(step.get("turn"), ()), step.get("call")
            text = str(step.get("content") or "")
            if isinstance(number, int) and number < len(ids):
                yield _message("tool", text, tool_call_id=ids[number])
            else:  # a fenced block in a text is no call of a tool
                yield _message("user", text)


def _system_first(messages: Iterable[Row]) -> list[JsonValue]:
    """Return *messages* with those of the system as one before all others, as chat templates take them."""
    every = list(messages)
    told = [str(message["content"]) for message in every if message["role"] == "system"]
    others = [message for message in every if message["role"] != "system"]
    return [*([_message("system", "\n\n".join(told))] if told else []), *others]


def _message(role: str, content: str, **fields: JsonValue) -> Row:
    absent: Row = {"tool_calls": [], "tool_call_id": "", "reasoning_content": ""}
    return {"role": role, "content": content, **absent, **fields}


def _tools(steps: Iterable[Step], replies: Iterable[ChatReply]) -> list[JsonValue]:
    """Return the tools that the model was offered, as requests have them; else those that it called."""
    for step in steps:
        if isinstance(offered := step.get("tools"), list):
            return [{"type": "function", "function": tool} for tool in offered]
    called = {call.name for reply in replies for call in reply.message.tool_calls}
    return [_function(name) for name in sorted(called & _TOOLS.keys())]


def _function(name: str) -> JsonValue:
    properties: Row = {key: {"type": kind} for key, kind in _TOOLS[name].items()}
    required: list[JsonValue] = [*_NEEDED.get(name, ())]
    parameters: Row = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


def main_conversation(steps: Sequence[Step]) -> Sequence[Step]:
    """Return messages and replies of the conversation with most replies; *steps* themselves where there is one.

    A command-line program holds several conversations with its model: one asks for a title, another is a
    helper's, a long one begins again from a summary. A trajectory has what each request had new (`exchange`,
    `place`) and which it went on from (`continues`, with its first `shared` messages).
    """
    if not any("exchange" in step for step in steps):
        return steps
    whole: dict[JsonValue, list[Step]] = {}
    longest: list[Step] = []
    news: list[Step] = []
    for step in steps:
        match step.get("kind"):
            case "program":  # started again: its numbers begin anew, and so does its work
                whole, longest, news = {}, [], []
            case "message":
                news.append(step)
            case "unanswered":
                news = []
            case kind if kind == REPLY:
                shared = step.get("shared")
                known = whole.get(step.get("continues"), [])
                kept = [one for one in known if not isinstance(shared, int) or _place(one) < shared]
                made = whole[step.get("exchange")] = [*kept, *news, step]
                news = []
                longest = max(made, longest, key=_replies)
    return longest


def _place(step: Step) -> int:
    place = step.get("place")
    return place if isinstance(place, int) else 0


def _replies(steps: Sequence[Step]) -> int:
    return sum(step.get("kind") == REPLY for step in steps)
