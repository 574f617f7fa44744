"""The specification of a service, extracted: what its authors tell, its operations, and one exchange of each.

It is marked as extracted. It states what hidden tests ask for: paths, fields, statuses, and the values of the
exchanges that it shows. Tests that send other values expect only what stands here, or follows from the request.
"""

import json
import re
from collections.abc import Iterator, Sequence

from groundup.suites.sets import canary_line
from groundup_factory.services.exploring import ServiceAnswer
from groundup_factory.services.operations import Operation, Parameter
from groundup_factory.services.recording import Recorded
from groundup_factory.services.scenarios import HEADERS, ServiceCall, ServiceRequest

MARK = "extracted"
_LONGEST_TEXT = 3000
_LONGEST_BODY = 1500
_NOISE = re.compile(r"!\[|^\s*<|^\s*\[!\[|badge|^\s*```|^\s*\||^\s*[-*=]{3,}\s*$")


def extracted(
    name: str, canary: str, port: int, readme: str, operations: Sequence[Operation], recorded: Sequence[Recorded]
) -> str:
    """Return the text of README.md."""
    parts = [
        f"{canary_line(canary)}\n# {name}\n",
        f"This specification was {MARK} from the original's documents, its routes and what it answers; it tells\n"
        "behaviour only as far as those do.\n",
        "## Purpose\n",
        prose(readme) or f"A web service, {name}.\n",
        "## Running\n",
        f"The service listens on port {port} of all addresses, and speaks HTTP. It starts with no data but what\n"
        "is shown below. `start.sh` starts it.\n",
        "## Endpoints\n",
        *(_section(one, recorded) for one in operations),
    ]
    return "\n".join(parts)


def prose(readme: str) -> str:
    """Return what the original's README tells, without pictures, tables and commands."""
    kept: list[str] = []
    in_code = False
    for line in readme.splitlines():
        if line.lstrip().startswith("```"):
            in_code = not in_code
            continue
        if in_code or _NOISE.search(line):
            continue
        kept.append(f"**{line.strip('# ')}**" if line.startswith("#") else line.rstrip())
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return (
        f"{text[:_LONGEST_TEXT].rpartition(chr(10))[0] if len(text) > _LONGEST_TEXT else text}\n" if text else ""
    )


def _section(operation: Operation, recorded: Sequence[Recorded]) -> str:
    mine = [one for one in recorded if one.scenario.calls[-1].operation == operation]
    lines = [f"### {operation}\n"]
    if operation.told:
        lines.append(operation.told.strip() + "\n")
    lines += list(_parameters(operation))
    shown = next((one for one in mine if one.scenario.shown), None)
    if shown is not None and (len(shown.scenario.calls) > 1 or shown.scenario.calls[-1].login is not None):
        lines.append(f"{_told_before(shown.scenario.calls)}\n")
    lines += list(_statuses(operation, mine))
    if shown is not None:
        lines.append(_exchange(shown.scenario.steps[-1], shown.answers[-1][0]))
    return "\n".join(lines)


def _parameters(operation: Operation) -> Iterator[str]:
    places = (("path", operation.in_path), ("query", operation.in_query), (operation.sends, operation.body or ()))
    rows = [row for place, given in places for one in given for row in _rows(place, one, "")]
    if rows:
        yield "| parameter | in | type | required | meaning |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n"


def _rows(place: str, one: Parameter, above: str) -> Iterator[str]:
    kind = f"array of {one.items.kind}" if one.items is not None else one.kind
    bounds = (
        ("one of {}", ", ".join(json.dumps(choice) for choice in one.choices)),
        ("format {}", one.format),
        ("at least {:g}", one.minimum),
        ("at most {} characters", one.longest),
        ("at least {} characters", one.shortest),
    )
    notes = [one.told.replace("\n", " ").replace("|", "/")]
    notes += [words.format(bound) for words, bound in bounds if bound not in (None, "")]
    told = "; ".join(note for note in notes if note) or "-"
    yield f"| `{above}{one.name}` | {place} | {kind} | {'yes' if one.required else 'no'} | {told} |"
    for inner in one.fields:
        yield from _rows(place, inner, f"{above}{one.name}.")


def _told_before(calls: Sequence[ServiceCall]) -> str:
    """Say which calls come before, what is taken from their answers, and who asks."""
    parts = []
    for call in calls[:-1]:
        taken = [f"`{'.'.join(map(str, path))}` as {name}" for name, path in call.keeps.items()]
        parts.append(
            f"`{call.operation}`" + (f" (from whose answer {' and '.join(taken)} is taken)" if taken else "")
        )
    last = calls[-1]
    login = ""
    if last.login == "basic":
        login = "with HTTP Basic authentication"
        if last.account is not None:
            login += f" as `{last.account[0]}` with the password `{last.account[1]}`, who is known from the start"
    elif last.login is not None:
        login = f"with `Authorization: {HEADERS[last.login].replace('{token}', 'TOKEN')}`"
    before = f"after {', then '.join(parts)}" if parts else ""
    return f"It is asked {', and it is asked '.join(part for part in (before, login) if part)}."


def _statuses(operation: Operation, mine: Sequence[Recorded]) -> Iterator[str]:
    """Yield the statuses that are known: as answered, and as the authors tell."""
    yield "Answers:\n"
    seen: set[tuple[str, int]] = set()
    for one in mine:
        told, status = one.scenario.told.removeprefix(str(operation)).strip(" ,"), one.statuses[-1]
        if (told, status) in seen:
            continue
        seen.add((told, status))
        same = {answer.text for answer in one.answers[-1]}
        body = same.pop() if status >= 400 and len(same) == 1 else ""
        shown = f": `{' '.join(body.split())[:_LONGEST_BODY]}`" if body and "<" not in body else ""
        yield f"- {told or 'answers'}: {status}{shown}"
    told_statuses = [f"{status} {told}".strip() for status, told in operation.answers.items()]
    if told_statuses:
        yield f"- its authors tell: {'; '.join(told_statuses)}"
    yield ""


def _exchange(step: ServiceRequest, answer: ServiceAnswer) -> str:
    target = step.target({}) if "{" not in step.path else step.path
    sent = f"\n\n{_shown_json(step.body)}" if step.sends != "nothing" else ""
    text = (
        _shown_json(answer.read) if answer.read is not None else answer.text if "html" not in answer.kind else ""
    )
    answered = f"\n\n{text[:_LONGEST_BODY]}" if text else ""
    kind = f" {answer.kind}" if answer.kind else ""
    return (
        f"Example:\n\n```http\n{step.method} {target} HTTP/1.1{sent}\n```\n\n"
        f"```http\nHTTP/1.1 {answer.status}{kind}{answered}\n```\n"
    )


def _shown_json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)
