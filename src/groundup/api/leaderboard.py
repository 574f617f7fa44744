"""Bundles of runs that others can check, and a page that ranks them."""

import hashlib
import math
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import Field

from groundup import catalog
from groundup.api.flags import AnyPath
from groundup.api.reports import run_folder
from groundup.api.runs import regrade
from groundup.domain.errors import UsageError
from groundup.domain.limits import EpisodeLimits
from groundup.domain.records import Record
from groundup.domain.version import __version__
from groundup.reports.leaderboard import Entry, board
from groundup.reports.summary import report_run
from groundup.runs.bundles import Bundle, BundleManifest, Disclosure, unpack
from groundup.runs.bundles import pack as pack_run
from groundup.settings import Settings, load
from groundup.store.files import write_atomically
from groundup.store.folder import RunFolder
from groundup.store.records import VerdictLine
from groundup.suites.base import open_suite
from groundup.trees.writer import disk_errors

SUFFIX = ".tar.gz"
_NOT_STATED = "not stated"


class Differing(Record):
    """An attempt that was graded otherwise than its bundle says."""

    attempt: str
    claimed: str
    found: str


class Verification(Record):
    """Whether a bundle's numbers hold, as far as a sample tells."""

    run: str
    seed: int
    tasks: tuple[str, ...] = Field(description="drawn")
    of: int = Field(description="tasks that could be drawn")
    attempts: int = Field(description="graded again and compared")
    differing: tuple[Differing, ...]
    sandbox: str = Field(description="in which it was graded again: the verifier's")
    unknown: tuple[str, ...] = Field(description="attempts that could not be graded again here")

    @property
    def holds(self) -> bool:
        """Whether everything that was drawn was graded again, to the same score."""
        return not self.differing and not self.unknown and self.attempts > 0

    @property
    def conclusion(self) -> str:
        """One sentence for people."""
        if self.differing:
            return f"the numbers do not hold: {len(self.differing)} of {self.attempts} attempts differ"
        if self.unknown or not self.attempts:
            return f"not verified: {len(self.unknown)} attempts could not be graded here, {self.attempts} were"
        words = f"the numbers hold: {self.attempts} attempts at {len(self.tasks)} of {self.of} tasks agree"
        if len(self.tasks) == self.of:
            return words
        most = 1 - math.exp(math.log(0.05) / len(self.tasks))
        return f"{words}; with 95 % confidence fewer than {most * 100:.0f} % of all tasks differ"


def pack(
    run: AnyPath,
    bundle: AnyPath,
    *,
    contamination: str = _NOT_STATED,
    notes: str = "",
    output: AnyPath | None = None,
    settings: Settings | None = None,
) -> BundleManifest:
    """Write configuration, lock, verdicts and submissions of *run* to the file *bundle*, a `.tar.gz`.

    *contamination* says what the model may have seen of the tasks. Raises `UsageError`, also for a run that owes
    attempts.
    """
    found = settings or load({"output": output})
    if not str(bundle).endswith(SUFFIX):
        raise UsageError(f"a bundle's name ends in {SUFFIX}")
    folder = RunFolder(run_folder(run, found))
    suite = open_suite(folder.config().configuration.suite, found)
    planned = set(folder.config().planned.tasks)
    languages = {str(task.metadata.get("language", "python")) for task in suite.tasks() if task.id in planned}
    told = Disclosure(contamination=contamination, notes=notes, languages=tuple(sorted(languages)))
    return pack_run(folder, Path(bundle), told, __version__)


def verify(
    bundle: AnyPath,
    *,
    sample: int = 10,
    seed: int | None = None,
    suite: str | None = None,
    jobs: int | None = None,
    settings: Settings | None = None,
) -> Verification:
    """Grade the submissions of *sample* tasks of *bundle* again, drawn by *seed* (None: at random), and compare.

    Neither the bundle's verdicts nor a cache is used, and the sandbox is that of *settings*, whatever the bundle
    says. A suite that is not groundup's own, `package.module:attribute`, is code that the bundle names: it is
    loaded only when *suite* says the same. Raises `UsageError` for what is no bundle.
    """
    if sample < 1:
        raise UsageError("sample takes a number of tasks, at least 1")
    verifier = settings or load()
    drawn = random.SystemRandom().randrange(2**32) if seed is None else seed
    with _opened(bundle) as opened:
        config, lines = opened.run.config(), opened.run.latest()
        named = config.configuration.suite
        if named not in catalog.names("suite") and named != suite:
            raise UsageError(f"the bundle's suite is {named!r}; --suite {named} says that you trust it")
        graded = sorted({key.task for key, line in lines.items() if line.submission and line.verdict})
        tasks = sorted(random.Random(drawn).sample(graded, min(sample, len(graded))))  # noqa: S311  # reproducible
        if not tasks:
            raise UsageError("the bundle has no submission that could be graded again")
        keys = [key for key in config.planned.keys if key.task in tasks and key in lines]
        opened.lay_out(keys)
        with tempfile.TemporaryDirectory(prefix="groundup-verify-") as room:
            again = regrade(
                opened.run.path,
                settings=verifier,
                tasks=tasks,
                output=room,
                no_cache=True,
                run_id="again",
                grader=config.grader,
                jobs=jobs,
                sandbox=verifier.sandbox,
            )
            found = RunFolder(again.folder).latest()
            sandbox = RunFolder(again.folder).config().configuration.sandbox
        compared = [(key, _standing(lines[key]), found.get(key)) for key in keys]
    known = [(key, claimed, _standing(line)) for key, claimed, line in compared if line and line.settles]
    return Verification(
        run=config.run_id,
        seed=drawn,
        tasks=tuple(tasks),
        of=len(graded),
        attempts=len(known),
        differing=tuple(
            Differing(attempt=str(key), claimed=claimed, found=seen)
            for key, claimed, seen in known
            if claimed != seen
        ),
        sandbox=sandbox,
        unknown=tuple(str(key) for key, _, line in compared if line is None or not line.settles),
    )


def _standing(line: VerdictLine) -> str:
    if line.verdict is None:
        return "not attempted"
    score = line.verdict.score
    parts = "" if score is None else f" {score.numerator:g}/{score.denominator:g}"
    return f"{line.verdict.status.value}{parts}"


@contextmanager
def _opened(bundle: AnyPath) -> Iterator[Bundle]:
    with tempfile.TemporaryDirectory(prefix="groundup-bundle-") as room:
        yield unpack(Path(bundle), Path(room) / "bundle")


def build(folder: AnyPath, site: AnyPath) -> list[str]:
    """Write a page that ranks the bundles in *folder* to *site*, beside copies of them; return the runs' names.

    Raises `UsageError` for a file there that is no bundle.
    """
    bundles = sorted(Path(folder).glob(f"*{SUFFIX}"))
    if not bundles:
        raise UsageError(f"{folder} holds no bundle (*{SUFFIX}); `groundup leaderboard pack` makes one")
    evidence = Path(site) / "evidence"
    entries = [_entry(path) for path in bundles]
    with disk_errors(Path(site)):
        evidence.mkdir(parents=True, exist_ok=True)
        for path in bundles:
            shutil.copyfile(path, evidence / path.name)
        write_atomically(Path(site) / "index.html", board(entries).encode())
    return [entry.run.run_id for entry in entries]


def _entry(path: Path) -> Entry:
    with _opened(path) as opened:
        config, told = opened.run.config(), opened.manifest.disclosure
        submissions = config.configuration.submissions
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Entry(
            run=report_run(config, opened.run.latest()),
            kind=submissions.kind,
            languages=told.languages,
            limits=_limits(getattr(submissions, "limits", None)),
            contamination=told.contamination,
            notes=told.notes,
            evidence=f"evidence/{path.name}",
            digest=digest,
        )


def _limits(limits: EpisodeLimits | None) -> str:
    if limits is None:
        return "not known: the submissions were made elsewhere"
    told: Sequence[str] = [f"{name}={value}" for name, value in limits.model_dump().items() if value is not None]
    return ", ".join(told) or "none"
