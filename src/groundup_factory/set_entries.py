"""What a list for a set may name, what became of each entry, and the way of one entry through the steps."""

import json
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from packaging.utils import canonicalize_name
from pydantic import Field, ValidationError

from groundup.domain.digests import digest_of, short
from groundup.domain.errors import UsageError
from groundup.domain.names import checked_name
from groundup.domain.records import Record, plainly
from groundup.languages import LANGUAGES
from groundup.manifests.records import Language
from groundup.settings import Settings
from groundup.store.files import complete_lines, write_atomically
from groundup.suites.sets import ENTRIES, SetManifest, SetRefetch, SetTask, read_manifest
from groundup.trees.walking import read_regular, remove_tree
from groundup.trees.writer import copy_tree, disk_errors
from groundup_factory.filters import FilteredError, FilterRules, RepositoryFacts
from groundup_factory.spending import SetSpending

EVIDENCE = "evidence"
_LOG = "log.txt"
_OWED = {"failed": "machine or network", "pending": "budget of models"}
"""Standings that do not last, and as what they are counted."""
Standing = Literal["accepted", "rejected", "failed", "pending"]
Tell = Callable[[str, str], None]
"""Takes an entry's name and a line of what is done about it."""
_CAUSES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "located": (
        (r"seems to run tests.*\(it uses ", "another CI service"),
        (r"seems to run tests", "no test job"),
        (r"which job runs tests is not known", "a workflow of another repository"),
        (r"", "the test job cannot be run here"),
    ),
    "masked": (
        (r"declares nothing that could be masked .* \(there are", "no run-time dependencies"),
        (r"declares nothing that could be masked", "no dependencies"),
        (r"", "a build file that is not understood"),
    ),
    "fetched": (
        (r"name no repository", "no tests, and no repository named"),
        (r"has no tag of", "no tests, and no tag of the release"),
        (r"at its root", "no tests, and another project's repository"),
        (r"package index has no", "not on the package index"),
        (r"holds? (?:no tests|none)", "no tests"),
    ),
    "proven": (
        (r"no tests that pytest could", "no tests"),
        (r"no package or module was found", "no package found"),
        (r"pytest itself needs", "pytest itself needs it"),
        (r"wants Python", "no fitting Python"),
        (r"set of parameters|empty parameter", "empty parameter sets"),
        (r"which is not in this source", "its tests' data are not in the source"),
        (r"stub", "a stub passes"),
        (r"it is compiled", "it is compiled"),
        (r"cannot be (?:locked|installed|built)|usable wheel", "requirements cannot be installed"),
        (r"an empty submission passes", "tests pass without it"),
        (r"\d+ of \d+ tests pass, and a task needs", "too few tests"),
        (r"\d+ of \d+ tests pass", "too many tests left out"),
    ),
    "audited": ((r"", "graded otherwise than frozen"),),
}
"""Step -> patterns of its sentences, and what such a rejection is counted as."""


class SetEntry(Record):
    """What became of one entry of the list."""

    entry: str
    task: str = Field(description="the task's id; of what is none, its name")
    standing: Standing = Field(
        description="failed: by the machine or the network; pending: the budget is spent; both are tried again"
    )
    step: str = Field(default="", description="at which it ended; of what was accepted the last one")
    cause: str = Field(default="", description="as what it is counted")
    why: str = Field(default="", description="in a sentence; empty for what was accepted")
    facts: RepositoryFacts = RepositoryFacts()
    evidence: str = Field(default="", description="folder of its log, beside those of the others")
    tests: int = 0
    left_out: int = 0
    gaps: tuple[str, ...] = Field(
        default=(), description="of the specification that a model wrote, which is why an extracted one is used"
    )
    seconds: float = Field(ge=0)
    processor_s: float = Field(default=0, description="of this process and its children; a share, with --jobs")
    layers_mb: float = Field(default=0, description="of environments that came to the cache meanwhile")

    @property
    def is_unsettled(self) -> bool:
        """Whether it is neither a task nor rejected, so that it is tried again."""
        return self.standing in _OWED

    @property
    def remark(self) -> str:
        """Why it is no task, or why its specification is not the one that a model wrote."""
        if self.why or not self.gaps:
            return self.why
        return f"specification extracted, as the written one has {len(self.gaps)} gaps, first: {self.gaps[0]}"


def read_entries(folder: Path) -> list[SetEntry]:
    """Return what became of the entries of the set in *folder*, the last word on each. Raises `UsageError`."""
    found: dict[str, SetEntry] = {}
    for number, line in complete_lines(folder / ENTRIES):
        try:
            one = SetEntry.model_validate_json(line)
        except ValidationError as error:
            raise UsageError(
                f"{folder / ENTRIES}:{number}: no entry of a set; remove the line, and the entry is made again"
            ) from error
        found[one.entry] = one
    return list(found.values())


class SetWish(Record):
    """One entry of the list: what a task is to be made of."""

    text: str
    name: str
    """What it is called until its task has an id."""
    kind: Literal["package", "git", "folder"]
    what: str
    commit: str | None = None
    language: Language | None = None
    stars: int | None = None

    @property
    def slug(self) -> str:
        """A name for its files that no other entry has."""
        return f"{self.name}-{short(digest_of(self.text))[:8]}"


def parse_wish(text: str) -> SetWish:
    """Return what *text* names: NAME[==VERSION], a folder, or a Git repository[@COMMIT]. Raises `UsageError`.

    A JSON object names a repository by `repository`, or by `full_name` as a search of a forge does, and may have
    `commit`, `language` and `stars` (or `stargazers_count`).
    """
    if text.startswith("{"):
        return _of_object(text)
    if text.startswith((".", "/", "~")) and not text.startswith("git@"):
        folder = Path(text).expanduser().resolve()
        if not folder.is_dir():
            raise UsageError(f"{text}: no such folder; name one, a package of the index, or host/owner/name")
        return SetWish(text=str(folder), name=checked_name(folder.name), kind="folder", what=str(folder))
    if "/" in text:
        what, _, commit = text.rpartition("@")
        if not what or "/" in commit or ":" in commit:
            what, commit = text, ""
        name = what.rstrip("/").removesuffix(".git").rpartition("/")[2]
        what = what.removesuffix(".git")
        return SetWish(text=text, name=checked_name(name), kind="git", what=what, commit=commit or None)
    name, _, version = text.partition("==")
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", name) or (version and " " in version):
        raise UsageError(
            f"{text!r} is no library; write NAME, NAME==VERSION, ./FOLDER, or host/owner/name[@COMMIT]"
        )
    return SetWish(text=text, name=canonicalize_name(name), kind="package", what=text)


def parse_repository(text: str) -> SetWish:
    """Return which repository *text* names, a folder or one of Git. Raises `UsageError`."""
    wish = parse_wish(text)
    if wish.kind == "package":
        raise UsageError(f"{text!r} is no repository; write ./FOLDER, or host/owner/name[@COMMIT]")
    return wish


def _of_object(text: str) -> SetWish:
    try:
        given: dict[str, Any] = json.loads(text)
        repository = given.get("repository") or f"github.com/{given['full_name']}"
        if re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
            repository = f"github.com/{repository}"
        commit = given.get("commit") or given.get("commit_sha")
        wish = parse_wish(repository + (f"@{commit}" if commit else ""))
        language = str(given["language"]).lower() if given.get("language") else None
        stars = given.get("stars", given.get("stargazers_count"))
        language = next((name for name, known in LANGUAGES.items() if language in known.also_called), language)
        return SetWish.model_validate({**wish.model_dump(), "language": language, "stars": stars})
    except ValidationError as error:
        raise UsageError(f"{text[:80]}: {plainly(error.errors()[0])}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{text[:80]}: write an object with `repository`, and optionally `commit`") from error


def identity(full_name: str | None, name: str, version: str) -> str:
    """Return a task's id: `owner__name@commit`, or `name@version`. No two originals have one in common."""
    owner = (full_name or "").rpartition("/")[0]
    return checked_name(f"{owner}__{name}@{version}" if owner else f"{name}@{version}")


class EarlierTask(Record):
    """A task that an earlier version of a set has, of the very same original."""

    folder: Path
    """Of that version."""
    task: SetTask
    entry: SetEntry
    canary: str


def earlier_task(folder: Path | None, task: str) -> EarlierTask | None:
    """Return what the set in *folder* has by the id *task*; None: nothing. Raises `UsageError`."""
    if folder is None:
        return None
    manifest = read_manifest(folder)
    described = next((one for one in manifest.tasks if one.id == task), None)
    entry = next((one for one in read_entries(folder) if one.task == task and one.standing == "accepted"), None)
    if described is None or entry is None:
        return None
    return EarlierTask(folder=folder, task=described, entry=entry, canary=manifest.canary)


class EntryWalk:
    """One entry on its way through the steps, which it logs beside the set."""

    def __init__(self, wish: SetWish, folder: Path, tell: Tell) -> None:
        """Begin: *folder* is the set's."""
        self.wish = wish
        self.evidence = folder / EVIDENCE / wish.slug
        self.step = ""
        self.cause = ""
        self.otherwise: tuple[str, str] | None = None
        """The cause and the sentence that stand, should the time be up while something else is tried."""
        self.facts = RepositoryFacts(language=wish.language, stars=wish.stars)
        self.gaps: tuple[str, ...] = ()
        """Of what a model wrote for it."""
        self._tell = tell
        self._began = time.monotonic()

    def at(self, step: str) -> None:
        """Go on to *step*; its time begins with the first, and not while it waits for a place."""
        if not self.step:
            self._began = time.monotonic()
        self.step = step
        self._log(f"step {step}")

    def say(self, line: str) -> None:
        self._log(line)
        self._tell(self.wish.name, line)

    def take_evidence(self, folder: Path) -> None:
        """Add what the log in *folder* says of this entry, and copy what lies beside it."""
        source = folder / self.wish.slug
        for path in sorted(source.iterdir()) if source.is_dir() else ():
            if path.name == _LOG and path.is_file():
                with disk_errors(self.evidence), (self.evidence / _LOG).open("ab") as file:
                    file.write(read_regular(path))
            else:
                remove_tree(self.evidence / path.name)
                (copy_tree if path.is_dir() else shutil.copyfile)(path, self.evidence / path.name)

    def ended(
        self, standing: Standing, error: Exception | str = "", task: str = "", tests: int = 0, left_out: int = 0
    ) -> SetEntry:
        """Return what became of it."""
        why = str(error).partition("\n")[0][:600]
        if isinstance(error, FilteredError):
            self.cause = error.rule
        elif standing in _OWED:
            self.cause = _OWED[standing]
        elif why and not self.cause:
            known = _CAUSES.get(self.step, ())
            self.cause = next((cause for pattern, cause in known if re.search(pattern, why)), "other")
        self.say(f"{standing}: {why}" if why else f"accepted as {task}")
        if why != str(error):
            self._log(str(error))
        return SetEntry(
            entry=self.wish.text,
            task=task or self.wish.name,
            standing=standing,
            step=self.step,
            cause=self.cause,
            why=why,
            facts=self.facts,
            evidence=self.wish.slug,
            tests=tests,
            left_out=left_out,
            gaps=self.gaps,
            seconds=round(time.monotonic() - self._began, 1),
        )

    def _log(self, line: str) -> None:
        with disk_errors(self.evidence):
            self.evidence.mkdir(parents=True, exist_ok=True)
            with (self.evidence / _LOG).open("a", encoding="utf-8", errors="replace") as file:
                file.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {line}\n")


@dataclass(frozen=True)
class SetPlace:
    """Where a set is made, and by what rules."""

    folder: Path
    manifest: SetManifest
    filters: FilterRules
    earlier: Path | None
    settings: Settings
    spending: SetSpending | None = None
    """On the model that writes specifications; None: they are extracted."""
    settled: Mapping[str, SetEntry] = field(default_factory=dict)
    """What became of entries before."""


@dataclass(frozen=True)
class MadeTask:
    """A task that is in place."""

    id: str
    tests: int
    left_out: int = 0


def note_refetch(place: Path, refetch: SetRefetch) -> None:
    """Write beside the folder *place* of a set how it is made again."""
    write_atomically(_refetch_note(place), refetch.model_dump_json().encode())


def noted_refetch(place: Path) -> SetRefetch | None:
    """Return how the folder *place* of a set is made again; None where that is not known."""
    note = _refetch_note(place)
    return SetRefetch.model_validate_json(note.read_bytes()) if note.is_file() else None


def _refetch_note(place: Path) -> Path:
    return place.with_name(f"{place.name}.refetch.json")
