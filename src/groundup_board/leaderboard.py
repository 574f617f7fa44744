"""Bundles of runs that others can check, and a page that ranks those that were verified."""

import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from pydantic import Field

from groundup.api.flags import AnyPath
from groundup.api.folders import run_folder
from groundup.domain.digests import digest_of
from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.reports.summary import report_run
from groundup.settings import Settings, load, with_flags
from groundup.store.folder import RunFolder
from groundup.store.ownership import copy_made, digest_of_file, write_made
from groundup.store.records import VerdictLine
from groundup.suites.base import Suite
from groundup.suites.opening import open_suite
from groundup.trees.likeness import HandedIn, shared, written_lines
from groundup.trees.writer import disk_errors
from groundup_board.bundles import SUFFIX, BundleManifest, Disclosure
from groundup_board.bundles import pack as pack_run
from groundup_board.page import Entry, Verified, board, limits_in_words
from groundup_board.verification import PLAIN, BoardRules, claims_of, drawn_tasks, gradable, opened_bundle
from groundup_board.verified import NOT_STATED, VerificationFile, read_record, record_name


class BuiltBoard(Record):
    """What became of a folder of bundles."""

    runs: tuple[str, ...] = Field(description="names of those on the page")
    refused: dict[str, tuple[str, ...]] = Field(description="file names of the others, and why")


def pack(
    run: AnyPath,
    bundle: AnyPath,
    *,
    contamination: str = NOT_STATED,
    notes: str = "",
    output: AnyPath | None = None,
    settings: Settings | None = None,
) -> BundleManifest:
    """Write configuration, lock, verdicts and submissions of *run* to the file *bundle*, a `.tar.gz`.

    *contamination* says what the model may have seen of the tasks. Raises `UsageError`, also for a run that owes
    attempts.
    """
    found = with_flags(settings, {"output": output})
    if not str(bundle).endswith(SUFFIX):
        raise UsageError(f"a bundle's name ends in {SUFFIX}")
    folder = RunFolder(run_folder(run, found))
    suite = open_suite(folder.config().configuration.suite, found)
    disclosure = Disclosure(
        contamination=contamination,
        notes=notes,
        languages=_languages(folder.config().planned.tasks, suite),
    )
    return pack_run(folder, Path(bundle), disclosure)


def _languages(tasks: Collection[str], suite: Suite) -> tuple[str, ...]:
    found = {str(task.metadata.get("language", "python")) for task in suite.tasks() if task.id in set(tasks)}
    return tuple(sorted(found))


def build(
    folder: AnyPath,
    site: AnyPath,
    *,
    verified: AnyPath,
    rules: BoardRules = PLAIN,
    pages: bool = False,
    settings: Settings | None = None,
) -> BuiltBoard:
    """Write a page that ranks the bundles in *folder* to *site*, beside copies of them and of their verifications.

    With *pages*, each row leads to pages over its run, as `groundup view --bundle` writes them.
    A bundle enters whole and verified, or not at all: its claims are proven by *rules* as `verify` proves them
    before it grades, and the folder *verified* has a `record` for it as it is. The others are left out and named.
    Raises `UsageError` where something lies in *site* that groundup did not write.
    """
    bundles = sorted(Path(folder).glob(f"*{SUFFIX}"))
    if not bundles:
        raise UsageError(f"{folder} holds no bundle (*{SUFFIX}); `groundup leaderboard pack` makes one")
    found, refused = load() if settings is None else settings, dict[str, tuple[str, ...]]()
    admitted: dict[Path, _Admitted] = {}
    for path in bundles:
        one = _entry(path, Path(verified) / record_name(path), rules, found, Path(site) if pages else None)
        if not isinstance(one, _Admitted):
            refused[path.name] = one
            continue
        admitted[path] = one
    for path, one in list(admitted.items()):
        if other := next((other.name for other, known in admitted.items() if one.contradicts(known)), None):
            refused[path.name] = (f"{other} is the same run with other verdicts: one of the two is false",)
    admitted = {path: one for path, one in admitted.items() if path.name not in refused}
    for path, one in list(admitted.items()):
        same = next(other for other, known in admitted.items() if one.is_run_of(known))
        if same != path:
            refused[path.name] = (f"it is the same run as {same.name}",)
            del admitted[path]
    entries = {path: one.entry.but(same_as=_same_as(one, admitted.values())) for path, one in admitted.items()}
    built = BuiltBoard(runs=tuple(entry.run.run_id for entry in entries.values()), refused=refused)
    if not entries:  # a page that is there stays
        return built
    evidence = Path(site) / "evidence"
    with disk_errors(Path(site)):
        evidence.mkdir(parents=True, exist_ok=True)
        for path in entries:
            copy_made(path, evidence / path.name)
            copy_made(Path(verified) / record_name(path), evidence / record_name(path))
        write_made(Path(site) / "index.html", board(list(entries.values())).encode())
    return built


@dataclass(frozen=True)
class _Admitted:
    """An entry, and what tells whether others are of the same run or the same submissions."""

    entry: Entry
    created_at: datetime
    verdicts: str
    """Digest of what they say."""
    submissions: Collection[HandedIn]

    def contradicts(self, other: "_Admitted") -> bool:
        """Whether both are said to be one run and say different things of it."""
        return self.created_at == other.created_at and self.verdicts != other.verdicts

    def is_run_of(self, other: "_Admitted") -> bool:
        """Whether *other* is the same run, whatever it is called."""
        return self.created_at == other.created_at or self.verdicts == other.verdicts


def _same_as(one: _Admitted, every: Iterable[_Admitted]) -> tuple[str, ...]:
    """Say of which other runs *one* has submissions, or nearly."""
    copied = [
        (shared(one.submissions, other.submissions), other.entry.run)
        for other in every
        if other is not one and other.entry.run.suite == one.entry.run.suite
    ]
    of = len(one.submissions)
    found = [
        f"{count} of {of} submissions are those of {run.run_id} ({run.subject.title})"
        for count, run in copied
        if count
    ]
    return (*one.entry.same_as, *found)


def _run_pages(path: Path, site: Path, settings: Settings) -> str:
    """Write pages over the run of the bundle at *path* below *site*; return their address there."""
    from groundup.viewer import check_installed

    check_installed()
    from groundup.viewer.site import site_of

    name = path.name.removesuffix(SUFFIX)
    with opened_bundle(path) as opened, tempfile.TemporaryDirectory(prefix="groundup-pages-") as room:
        called = Path(room) / opened.run.config().run_id
        called.symlink_to(opened.run.path)
        site_of([called], site / "runs" / name, settings)
    return f"runs/{quote(name)}/{quote(called.name)}/index.html"


def _entry(
    path: Path, record: Path, rules: BoardRules, settings: Settings, site: Path | None
) -> _Admitted | tuple[str, ...]:
    """Return the entry that a bundle makes, with pages over its run where *site* is given; or why none."""
    try:
        with opened_bundle(path) as opened:
            config, lines = opened.run.config(), opened.lines
            claims, manifest = claims_of(opened, rules, settings), opened.manifest
            tasks = open_suite(config.configuration.suite, settings).by_name()
            handed_in = [
                HandedIn(task, digest, written_lines(tree, tasks[task]))
                for (task, digest), tree in opened.handed_in().items()
                if task in tasks
            ]
    except UsageError as error:
        return (str(error).removeprefix(f"{path}: "),)
    known, digest = read_record(record), digest_of_file(path)
    faults = [*claims.faults, *_doubts(known, digest, lines, path)]
    if faults or claims.tasks is None or known is None:
        return tuple(faults)
    pages = None if site is None else _run_pages(path, site, settings)
    submissions, checked = config.configuration.submissions, known.verification
    entry = Entry(
        run=report_run(config, lines),
        kind=submissions.kind,
        task_set=claims.tasks.name,
        set_digest=claims.tasks.digest,
        languages=_languages(claims.tasks.tasks, open_suite(config.configuration.suite, settings)),
        limits=limits_in_words(getattr(submissions, "limits", None)),
        contamination=manifest.disclosure.contamination,
        notes=manifest.disclosure.notes,
        evidence=f"evidence/{path.name}",
        digest=digest.rpartition(":")[2],
        verified=Verified(
            by=known.by,
            at=known.at,
            tasks=len(checked.tasks),
            of=checked.of,
            seed=checked.seed,
            unsteady=len(checked.unsteady),
            record=f"evidence/{record.name}",
        ),
        pages=pages,
        same_as=tuple(
            f"{count} of {checked.attempts} submissions that were graded again are the suite's own ({whose})"
            for whose, count in sorted(Counter(checked.references.values()).items())
        ),
    )
    said = digest_of([lines[key].but(chain=None) for key in sorted(lines, key=str)])
    return _Admitted(entry, config.created_at, said, handed_in)


def _doubts(
    known: VerificationFile | None, digest: str, lines: Mapping[AttemptKey, VerdictLine], path: Path
) -> Iterator[str]:
    """Yield why a record does not stand for a bundle."""
    if known is None:
        yield f"nobody verified it; `groundup leaderboard verify {path} --record VERIFIED --by NAME` does"
    elif known.bundle != digest:
        yield "it was changed since it was verified; verify it again"
    elif not known.verification.holds:
        yield f"its verification says: {known.verification.conclusion}"
    elif known.verification.tasks != drawn_tasks(
        gradable(lines), len(known.verification.tasks), known.verification.seed
    ):
        yield f"its verification names tasks that the seed {known.verification.seed} does not draw"
