"""The conversation of a command-line agent's attempt that did the work: programs hold several with their model.

One asks for a title, another is a helper's, a long one begins again from a summary. A trajectory has what each
request had new (`exchange`, `place`) and which it went on from (`continues`, with its first `shared` messages).
"""

from collections.abc import Sequence

from pydantic import JsonValue

from groundup.agents.trajectories import REPLY, Step


def main_conversation(steps: Sequence[Step]) -> Sequence[Step]:
    """Return messages and replies of the conversation with most replies; *steps* themselves where there is one."""
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
