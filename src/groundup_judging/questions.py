"""What a judge is asked and shown, the form that its answer must have, and what several judges agree on.

The tree is a stranger's: links are not followed, names are made printable, and texts are cut.

Judges agree when their scores differ by at most 3; what they agree on is accepted when the highest score is at
least 7. Where they disagree there is no score, and the disagreement is reported.
"""

import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from statistics import mean
from typing import get_args

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError

from groundup.domain.conversations import ChatRequest, Message
from groundup.domain.digests import digest_of
from groundup.domain.names import printable
from groundup.domain.records import Record, plainly
from groundup.domain.subjects import AttemptKey
from groundup.models.prices import estimated_text_tokens
from groundup.store.judgements import Criterion, Judgement, Matter, Opinion

_FILE_BYTES = 200_000
_LISTED = 400
_SKIPPED = frozenset(
    {".git", "node_modules", "__pycache__", ".venv", "venv", "target", "dist", "build", ".pytest_cache", ".idea"}
)
_README = re.compile(r"(?i)readme(\.(md|rst|txt|adoc))?")
_TESTS = re.compile(
    r"(?i:(^|/)(tests?|spec|__tests__)/|(^|/)(test_[^/]*|[^/]*(_test|\.test|\.spec))\.\w+$)"
    r"|(^|/)[^/]*Tests?\.\w+$"  # not `latest.py`
)
_CODE = re.compile(r"\.(py|js|mjs|cjs|ts|tsx|jsx|java|kt|rs|go|cs|rb|php|c|h|cc|cpp|hpp|sh|sql|html|css)$")
_DECLARATIONS = re.compile(
    r"(^|/)(pyproject\.toml|setup\.(py|cfg)|requirements[^/]*\.txt|package\.json|pom\.xml|Cargo\.toml"
    r"|[^/]*\.csproj|start\.sh|Dockerfile)$"
)


class Material(Record):
    """What is shown."""

    text: str
    shown: int
    files: int
    """All files of the submission that are not left out as made by tools."""
    present: bool
    """Whether there is anything to judge."""


class _File(Record):
    name: str
    path: Path
    bytes: int


def material_of(tree: Path, of: Matter, tokens: int) -> Material:
    """Return what a judge of the matter *of* is shown of the submission in *tree*, in about *tokens*."""
    files = list(_files(tree, tree))
    wanted = sorted((file for file in files if _shows(of, file.name)), key=lambda file: _order(file.name))
    listing = _listing(files)
    left = tokens - estimated_text_tokens(listing)
    parts: list[str] = []
    for file in wanted:
        text = _text(file)
        if text is None:
            continue
        part = f"--- file: {printable(file.name)}\n{text}\n"
        size = estimated_text_tokens(part)
        if size > left:
            part = _cut(part, left)
            if not part:
                continue
            size = left
        left -= size
        parts.append(part)
    return Material(text="\n".join([listing, *parts]), shown=len(parts), files=len(files), present=bool(wanted))


def _files(folder: Path, top: Path) -> Iterator[_File]:
    for entry in sorted(folder.iterdir()):
        if entry.is_symlink():
            continue
        if entry.is_dir():
            if entry.name not in _SKIPPED:
                yield from _files(entry, top)
        elif entry.is_file():
            yield _File(name=entry.relative_to(top).as_posix(), path=entry, bytes=entry.stat().st_size)


def _shows(of: Matter, name: str) -> bool:
    match of:
        case "readme":
            return "/" not in name and _README.fullmatch(name) is not None
        case "tests":
            return _TESTS.search(name) is not None
        case "repository":
            return True


def _order(name: str) -> tuple[int, int, str]:
    """Return what is read first: README and declarations, code near the top, tests, and then the rest."""
    if "/" not in name and _README.fullmatch(name):
        rank = 0
    elif _DECLARATIONS.search(name):
        rank = 1
    elif _TESTS.search(name):
        rank = 3
    elif _CODE.search(name):
        rank = 2
    else:
        rank = 4
    return rank, name.count("/"), name


def _listing(files: list[_File]) -> str:
    lines = [f"{printable(file.name)} ({file.bytes} bytes)" for file in files[:_LISTED]]
    if len(files) > _LISTED:
        lines.append(f"... and {len(files) - _LISTED} more")
    return "--- all files\n" + "\n".join(lines or ["(none)"]) + "\n"


def _text(file: _File) -> str | None:
    """Return the text of *file*, None when it holds something else."""
    with file.path.open("rb") as stream:
        content = stream.read(_FILE_BYTES)
    if b"\0" in content:
        return None
    text = content.decode(errors="replace")
    return text + f"\n[... {file.bytes - len(content)} bytes more]" if file.bytes > len(content) else text


def _cut(part: str, tokens: int) -> str:
    """Return the beginning of *part* that fits, "" when that would be too little."""
    if tokens < 200:
        return ""
    length = len(part)
    while estimated_text_tokens(part[:length]) > tokens - 10:
        length = length * 9 // 10
    return f"{part[:length]}\n[... the rest of this file is left out]\n"


OUTPUT_TOKENS = 4000
"""Models that think before they answer need more than the answer."""
_NO_TASK = "(The task's text is not at hand; judge what was handed in by what it says of itself.)"


class JudgeQuestion(Record):
    """What is asked, without the code word: two questions with one digest are the same."""

    of: Matter
    task: str
    material: Material

    @property
    def digest(self) -> str:
        """The digest by which a recorded judgement is known to answer this very question."""
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
    return files("groundup_judging").joinpath("data", f"{name}.txt").read_text(encoding="utf-8")


CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
_FRAMED = re.compile(r"```(?:json)?\s*\n(.*)\n```", re.DOTALL)
_REASON = 400


class UnusableAnswerError(Exception):
    """An answer that is not in the form; the text tells the judge what is wrong."""


class _Opinion(Record):
    score: StrictInt = Field(ge=0, le=10)
    reason: StrictStr


class _Answer(Record):
    model_config = ConfigDict(frozen=True, extra="forbid")

    scores: dict[Criterion, _Opinion]
    influenced: StrictBool


def parsed_answer(text: str) -> tuple[dict[Criterion, Opinion], bool]:
    """Return the scores and whether the judge saw an attempt to sway it. Raises `UnusableAnswerError`."""
    text = text.strip()
    if framed := _FRAMED.fullmatch(text):
        text = framed[1]
    try:
        answer = _Answer.model_validate(json.loads(text))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the answer"
        raise UnusableAnswerError(f"{where}: {plainly(first)}") from error
    except (ValueError, RecursionError) as error:
        raise UnusableAnswerError(f"it is not one JSON object: {str(error)[:200]}") from error
    if missing := [name for name in CRITERIA if name not in answer.scores]:
        raise UnusableAnswerError(f"scores.{missing[0]} is missing")
    scores = {
        name: Opinion(score=answer.scores[name].score, reason=answer.scores[name].reason[:_REASON])
        for name in CRITERIA
    }
    return scores, answer.influenced


WIDEST = 3
ACCEPTED_FROM = 7


class Agreement(Record):
    """The joint opinion of several judges on one matter."""

    scores: dict[str, float]
    """By judge."""
    mean: float | None
    """None: they disagree, or there is no judge."""
    agreed: bool
    accepted: bool


class Opinions(Record):
    """What is known of one matter of one attempt."""

    attempt: AttemptKey
    of: Matter
    criteria: dict[Criterion, Agreement]
    overall: Agreement
    """Of each judge's mean over the criteria."""
    influenced: tuple[str, ...]
    """Judges who report that the submission tried to sway them."""
    failed: dict[str, str]
    """Judges without scores, and why."""


def agreement(scores: Mapping[str, float]) -> Agreement:
    """Return the joint opinion for *scores* by judge."""
    if not scores:
        return Agreement(scores={}, mean=None, agreed=False, accepted=False)
    agreed = max(scores.values()) - min(scores.values()) <= WIDEST
    return Agreement(
        scores=dict(scores),
        mean=round(mean(scores.values()), 2) if agreed else None,
        agreed=agreed,
        accepted=agreed and max(scores.values()) >= ACCEPTED_FROM,
    )


def opinions(judgements: Sequence[Judgement]) -> Opinions:
    """Return the joint opinion for the *judgements* on one matter of one attempt, one for each judge."""
    good = [judgement for judgement in judgements if judgement.scores]
    overall = {
        judgement.judge: round(mean(opinion.score for opinion in judgement.scores.values()), 2)
        for judgement in good
    }
    return Opinions(
        attempt=judgements[0].attempt,
        of=judgements[0].of,
        criteria={
            name: agreement({judgement.judge: judgement.scores[name].score for judgement in good})
            for name in CRITERIA
        },
        overall=agreement(overall),
        influenced=tuple(judgement.judge for judgement in good if judgement.influenced),
        failed={judgement.judge: judgement.failed for judgement in judgements if judgement.failed is not None},
    )


def by_matter(judgements: Iterable[Judgement]) -> list[Opinions]:
    """Return the opinions on each matter of each attempt, in order; a judge's last judgement counts."""
    latest: dict[tuple[AttemptKey, Matter], dict[str, Judgement]] = {}
    for judgement in judgements:
        latest.setdefault((judgement.attempt, judgement.of), {})[judgement.judge] = judgement
    places = sorted(latest, key=lambda place: (place[0].task, place[0].index, place[1]))
    return [opinions(list(latest[place].values())) for place in places]
