"""What a prediction missed and made up, name by name, and what of it stands beside the outcome of a CI job."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from groundup.domain.errors import reading_submission
from groundup.domain.verdicts import Reason, Stage, TestResult
from groundup.languages import LANGUAGES
from groundup.languages.spelling import python_name
from groundup.manifests.records import Dependency
from groundup.registries.names import Names
from groundup.suites.dibench.answers import Edited, answer, new_dependencies
from groundup.suites.dibench.dataset import InstanceProblem
from groundup.suites.dibench.declarations import (
    UNDEFINED,
    NameKey,
    exact_key,
    is_request,
    likeness,
    name_key,
    section_of,
)
from groundup.suites.dibench.metrics import (
    DeclaredElsewhere,
    FileAnswer,
    InstanceAnswer,
    InstanceScore,
    declared_elsewhere,
    score_instance,
)
from groundup.suites.dibench.registry_check import Checked, EditedRepository, Existence, check, tally
from groundup.suites.dibench.sizes import sized
from groundup.suites.dibench.verdict_facts import ELSEWHERE

_SHOWN = 6
_LONGEST = 300
MISSING = "missing"
TOO_MANY = "one too many"
IN_ITS_PLACE = "probably stands in its place"
IN_PLACE_OF = "probably in the place of"
_ALIKE = 0.75
OTHERWISE = "declared otherwise"
_NOT_THERE = {
    Existence.FAKE: "no registry has it",
    Existence.INTERNAL_MISSING: "the repository does not have it",
    Existence.VERSION_MISSING: "the registry has no such version",
}


class NameFound(NamedTuple):
    """A name that the original or the prediction declares in a section of a file, and what is wrong with it."""

    path: str
    section: str
    name: str
    wrong: str = ""
    """Empty: both declare it alike."""
    existence: Existence | None = None
    """Of what the prediction declares, where it was looked up."""
    line: int | None = None
    """Where it stands: in the original's file what is missing, in the prediction's all else."""
    detail: str = ""
    instead: DeclaredElsewhere | None = None
    """Where the prediction declares it, when that is elsewhere."""
    meant: str = ""
    """Which missing name it stands for, or which one stands for it: a guess by their spelling."""
    unread: str = ""
    """Why nothing is declared: the prediction's file cannot be read."""

    @property
    def place(self) -> str:
        """The name with file, line and section."""
        line = f":{self.line}" if self.line else ""
        if self.instead is None:
            return f"{self.name} in {self.path}{line} ({self.section})"
        other = f", not of {self.path}" if self.instead.path != self.path else f", not {self.section}"
        return f"{self.name} in {self.instead.path}{line} ({section_of(self.instead.dependency)}{other})"

    def as_result(self) -> TestResult:
        """Return it as a test, `file::section::name`: passed where both declare the name, for each name counts.

        A missing one counts in recall, one too many in precision, one declared elsewhere in both.
        """
        lost = self.wrong not in ("", OTHERWISE)
        outcome: Literal["passed", "failed"] = "failed" if lost else "passed"
        missing = "" if self.existence is None else _NOT_THERE.get(self.existence, "")
        name = f"{self.path}::{self.section}::{self.name}"
        return TestResult(
            id=name,
            outcome=outcome,
            expected=True,
            message=": ".join(filter(None, (self.wrong, missing or self.unread, self.meant))),
            detail=self.detail,
            kind="dependency",
        )


def compared(
    found: InstanceAnswer, checked: Sequence[Checked] = (), broken: Mapping[str, str] = MappingProxyType({})
) -> tuple[NameFound, ...]:
    """Return each name that the original or the prediction declares, file by file and section by section.

    *broken*: why a file of the prediction says nothing, by path.
    """
    existence = {(one.path, name_key(one.dependency)): one.existence for one in checked}
    elsewhere = declared_elsewhere(found.files)
    names = (name for file in found.files for name in _Comparison(file, elsewhere, existence).names())
    return tuple(
        one._replace(unread=broken[one.path]) if one.wrong == MISSING and one.path in broken else one
        for one in names
    )


class _Comparison:
    """One build file of an instance, name by name."""

    def __init__(
        self,
        file: FileAnswer,
        elsewhere: Mapping[tuple[str, NameKey], DeclaredElsewhere],
        existence: Mapping[tuple[str, NameKey], Existence],
    ) -> None:
        self.path, self.elsewhere, self.existence = file.path, elsewhere, existence
        self.wanted, self.declared = _by_key(file.expected), _by_key(file.predicted or ())
        self.given = _by_key(file.given)
        hollow = {key: key._replace(defined=False) for key in self.wanted if key.defined}
        self.hollow = {key: other for key, other in hollow.items() if other in self.declared}
        """What is declared, and inherits what is not there."""
        self.spelt = {python_name(key.name): key.name for key in self.wanted if key not in self.declared}
        self.stand_ins = self._stand_ins()
        """By each key of a missing name and of one that probably stands for it: the other."""

    def names(self) -> Iterator[NameFound]:
        """Yield the names of the file; what stands for one of another section is told with that."""
        moved = {name_key(one.dependency) for one in self.elsewhere.values() if one.path == self.path}
        told = moved | {*self.hollow.values()}
        yield from (self._name(key) for key in sorted((self.wanted.keys() | self.declared.keys()) - told))

    def _stand_ins(self) -> dict[NameKey, NameKey]:
        moved = {name_key(one.dependency) for one in self.elsewhere.values() if one.path == self.path}
        missing = [
            key for key in self.wanted if key not in self.declared and (self.path, key) not in self.elsewhere
        ]
        extra = [key for key in self.declared if key not in self.wanted and key not in moved]
        pairs = [
            (likeness(one.name, other.name, self.declared[other][0].language), one, other)
            for one in missing
            for other in extra
            if one.section == other.section and one.defined and other.defined
        ]
        found: dict[NameKey, NameKey] = {}
        for alike, one, other in sorted(pairs, reverse=True):
            if alike >= _ALIKE and one not in found and other not in found:
                found |= {one: other, other: one}
        return found

    def _name(self, key: NameKey) -> NameFound:
        originals, own = self.wanted.get(key, []), self.declared.get(key, [])
        one = (originals or own)[0]
        its = self.existence.get((self.path, key))
        found = NameFound(self.path, key.section, _shown(one) or key.name, existence=its)
        known = "" if its is None else _NOT_THERE.get(its, "")
        if {*map(exact_key, originals)} == {*map(exact_key, own)}:
            return found._replace(line=_line(own), detail=known and f"{known}: {_words(own)}")
        if (self.path, key) in self.elsewhere:
            return self._moved(found, key, originals)
        if key in self.hollow and not own:
            own = self.declared[self.hollow[key]]
            detail = f"{UNDEFINED}: {_words(own)} has no version; the original has {_words(originals)}"
            return found._replace(wrong=UNDEFINED, line=_line(own), detail=detail)
        if (originals and own) or not is_request(one) or key in self.given:
            said, standing = _words(own) or "not at all", _words(originals or self.given.get(key, [])) or "none"
            detail = f"{OTHERWISE}: {said}; the original has {standing}" + (known and f"; {known}")
            return found._replace(wrong=OTHERWISE, line=_line(own or originals), detail=detail)
        if originals:
            detail = f"{MISSING}: the original declares {_words(originals)}"
            other = self.stand_ins.get(key)
            meant = f"{other.name} {IN_ITS_PLACE}" if other else ""
            return found._replace(wrong=MISSING, line=_line(originals), detail=detail, meant=meant)
        return self._too_many(found, key, own, known)

    def _moved(self, found: NameFound, key: NameKey, originals: Sequence[Dependency]) -> NameFound:
        other = self.elsewhere[self.path, key]
        section = section_of(other.dependency)
        where = f"in {section}, not {key.section}" if other.path == self.path else f"in {other.path}"
        return found._replace(
            wrong=ELSEWHERE,
            existence=self.existence.get((other.path, name_key(other.dependency))),
            line=_line([other.dependency]),
            detail=f"{ELSEWHERE}, {where}: {_words([other.dependency])}; the original has {_words(originals)}",
            instead=other,
        )

    def _too_many(self, found: NameFound, key: NameKey, own: Sequence[Dependency], known: str) -> NameFound:
        why = (known if key.defined else UNDEFINED) or "the original does not declare it"
        meant = self.spelt.get(python_name(key.name)) if key.defined else None
        client = LANGUAGES[own[0].language].installer
        hint = f"; for {client} it is another package than {meant}" if meant else ""
        detail = f"{TOO_MANY}: {why}; declared as {_words(own)}{hint}"
        other = self.stand_ins.get(key)
        instead = f"{IN_PLACE_OF} {other.name}" if other else ""
        return found._replace(wrong=TOO_MANY, line=_line(own), detail=detail, meant=instead)


def _by_key(items: Iterable[Dependency]) -> dict[NameKey, list[Dependency]]:
    found: dict[NameKey, list[Dependency]] = {}
    for item in items:
        found.setdefault(name_key(item), []).append(item)
    return found


def _shown(item: Dependency) -> str:
    """Return a name as people find it: where code finds the package by another, both."""
    return f"{item.alias} ({item.name})" if item.alias and item.alias != item.name else item.name


def _line(items: Sequence[Dependency]) -> int | None:
    return items[0].location.line if items and items[0].location else None


def _words(items: Sequence[Dependency]) -> str:
    """Return declarations as they stand, with what they inherit, section and line."""
    found = []
    for item in items:
        text = " ".join(item.text.split()) or f"{item.name} {item.constraint}".strip()
        inherited = f" ({item.constraint})" if item.constraint not in text else ""
        line = _line([item])
        found.append(f"`{text[:200]}`{inherited} in {section_of(item)}" + (f", line {line}" if line else ""))
    return " and ".join(found)


_MADE_UP = (Existence.FAKE, Existence.INTERNAL_MISSING)
_REASONS: Sequence[tuple[str, Callable[[NameFound], bool]]] = (
    ("that no registry has", lambda one: one.existence is Existence.FAKE),
    ("without a central definition", lambda one: one.wrong == UNDEFINED),
    ("that the repository does not have", lambda one: one.existence is Existence.INTERNAL_MISSING),
    (ELSEWHERE, lambda one: one.wrong == ELSEWHERE),
    (MISSING, lambda one: one.wrong == MISSING),
    ("too many", lambda one: one.wrong == TOO_MANY and one.existence not in _MADE_UP),
    (OTHERWISE, lambda one: one.wrong == OTHERWISE),
    ("in a version that the registry does not have", lambda one: one.existence is Existence.VERSION_MISSING),
)


def missed_reasons(found: Sequence[NameFound], most: int, stage: Stage = Stage.TEST) -> tuple[Reason, ...]:
    """Return which names are made up, elsewhere, missing, too many or declared otherwise, and where.

    Lines of what is missing are the original's. At most *most* sentences, the most telling first.
    """
    reasons = []
    for said, holds in _REASONS:
        places = [one.place for one in found if holds(one)]
        if places:
            more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
            text = f"{len(places)} {said}: {', '.join(places[:_SHOWN])}{more}"
            reasons.append(Reason(stage=stage, message=text[:_LONGEST]))
    return tuple(reasons[:most])


class TextScore(NamedTuple):
    """Counts of declarations; what the look-up of added ones found, None without one; each name."""

    counts: InstanceScore
    existence: Counter[Existence] | None
    names: tuple[NameFound, ...]

    @property
    def is_looked_up(self) -> bool:
        """Whether no name was out of reach: somebody may be there to ask the next time."""
        return self.existence is None or not self.existence[Existence.UNVERIFIABLE]


async def text_score(problem: InstanceProblem, edited: Edited, names: Names | None) -> TextScore:
    """Compare what *edited* declares with the original. Raises `SubmissionError`."""
    with reading_submission("the submission"):
        found, broken = await asyncio.to_thread(answer, problem, edited)
        counts = await asyncio.to_thread(lambda: score_instance(sized(found, problem)))
    if names is None:
        return TextScore(counts, None, compared(found, (), broken))
    async with names.asking() as asking:
        checked = await check(new_dependencies(found), EditedRepository(problem, edited.read), asking)
    return TextScore(counts, tally(checked), compared(found, checked, broken))


def nothing_declared(problem: InstanceProblem) -> TextScore:
    found = answer(problem, None)[0]
    return TextScore(score_instance(found), None, compared(found))
