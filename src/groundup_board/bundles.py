"""A run as one archive for others. Packs and opens bundles.

A bundle is a stranger's: it is unpacked under limits, and nothing in it counts that its manifest does not name by
digest. It holds neither trajectories nor logs, so no conversation with a model and no output of a host. Whether
its claims can be true is in `claims`.
"""

import hashlib
import re
import secrets
import tarfile
from collections.abc import Collection, Iterator
from pathlib import Path

from pydantic import Field, JsonValue, ValidationError

from groundup.domain.errors import SubmissionError, UsageError
from groundup.domain.names import count
from groundup.domain.records import Record, plainly
from groundup.domain.subjects import AttemptKey
from groundup.domain.version import __version__
from groundup.reports.publishing import reason_for_others
from groundup.store.checking import paid
from groundup.store.files import write_atomically
from groundup.store.folder import RunFolder
from groundup.store.lines import sealed_anew, written_lines
from groundup.store.ownership import digest_of_file, note_made, refuse_others
from groundup.store.records import ConfigFile, LockFile, RunConfiguration, VerdictLine
from groundup.trees.archives import anonymous, extract_archive
from groundup.trees.digest import TreeDigest, tree_digest
from groundup.trees.scratch import scratch_folder
from groundup.trees.walking import read_regular
from groundup.trees.writer import TreeLimits, copy_tree, disk_errors

MANIFEST = "manifest.json"
SUFFIX = ".tar.gz"
LIMITS = TreeLimits(files=1_000_000, bytes=32 * 1024**3)
"""Of a whole bundle: many submissions, each of which was within the limits for one."""
_FILES = ("config.json", "lock.json", "verdicts.jsonl")
_FILE_BYTES = 1024**3
_PLACE = re.compile(r"(?P<kind>[\w-]+/)?/(?:.*/)?(?P<name>[^/]+)/?")
"""An absolute path, maybe behind a provider: `scripted//a/b`."""


class Disclosure(Record):
    """What the one who hands a run in says of it, besides what its configuration says."""

    contamination: str = Field(max_length=2000, description="what the model may have seen of the tasks")
    notes: str = Field(default="", max_length=2000)
    languages: tuple[str, ...] = Field(default=(), max_length=20, description="of the tasks")


class BundleManifest(Record):
    """What a bundle holds: every file and every submission by its digest."""

    format: int = Field(default=1, ge=1, le=1)
    groundup: str = Field(description="version that packed it")
    disclosure: Disclosure
    files: dict[str, str] = Field(description="SHA-256 of each file of the run, by its path in the run's folder")
    submissions: tuple[str, ...] = Field(description="digests of trees, as verdicts name them")


_FOLDERS = frozenset({MANIFEST, "run", "submissions"})


class Bundle:
    """An opened bundle: a run's folder without submissions, which lie beside it by digest."""

    def __init__(self, folder: Path) -> None:
        """Check what was unpacked to *folder* against its manifest. Raises `UsageError` naming what is wrong."""
        self._folder = folder
        self._submissions = folder / "submissions"
        self.run = RunFolder(folder / "run")
        try:
            self.manifest = BundleManifest.model_validate_json(read_regular(folder / MANIFEST, _FILE_BYTES))
        except OSError as error:
            raise UsageError(f"this is no bundle: it has no {MANIFEST}") from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "content"
            raise UsageError(f"{MANIFEST} of the bundle is wrong: {where}: {plainly(first)}") from error
        self._check_files()
        self.lines = {line.attempt: line for line in self.run.lines()}
        """What it claims: the last line of each attempt."""
        self._trees = self._check_submissions()
        self._write_lock(self.run.lock().but(packed=True))

    def _check_files(self) -> None:
        found = {str(path.relative_to(self.run.path)) for path in _regular(self.run.path)}
        if found != set(self.manifest.files):
            differing = ", ".join(sorted(found ^ set(self.manifest.files))[:4])
            raise UsageError(f"the bundle's files are not those of its manifest: {differing}")
        for name, digest in self.manifest.files.items():
            if _sha256(self.run.path / name) != digest:
                raise UsageError(f"{name} of the bundle has another digest than its manifest says")
        if lacking := sorted(set(_FILES) - found):
            raise UsageError(f"it lacks {lacking[0]}, which every bundle has")

    def _check_submissions(self) -> dict[str, TreeDigest]:
        wanted = {line.submission for line in self.lines.values() if line.submission}
        packed = set(self.manifest.submissions)
        if lacking := sorted(wanted - packed):
            raise UsageError(f"the bundle lacks submissions that verdicts name, such as {lacking[0]}")
        trees = {}
        for digest in packed:
            place = self._submissions / _name(digest)
            if not place.is_dir() or (tree := tree_digest(place)).digest != digest:
                raise UsageError(f"the submission {digest} of the bundle is absent or has another digest")
            trees[digest] = tree
        return trees

    def _strange(self) -> Iterator[str]:
        """Yield what no bundle has: nothing vouches for it, and whoever looks into the bundle sees it."""
        records = {self._record_of(key) for key, line in self.lines.items() if line.submission}
        yield from sorted(set(self.manifest.files) - {*_FILES, *records})
        named = {line.submission for line in self.lines.values()}
        trees = {f"submissions/{_name(digest)}" for digest in self.manifest.submissions if digest in named}
        beside = [*self._folder.iterdir(), *(self._submissions.iterdir() if self._submissions.is_dir() else ())]
        yield from sorted({str(path.relative_to(self._folder)) for path in beside} - _FOLDERS - trees)

    def _record_of(self, key: AttemptKey) -> str:
        return str(self.run.attempt(key).submission_file.relative_to(self.run.path))

    def faults(self) -> Iterator[str]:
        """Yield what in its records does not fit, each in a sentence; that costs nothing and is checked of all."""
        if strange := list(self._strange()):
            yield f"it holds what `groundup leaderboard pack` never writes: {', '.join(strange[:3])}"
        yield from map(str, self.run.records().faults)
        for key, line in self.lines.items():
            if line.submission is None:
                continue
            record = self.run.attempt(key).record()
            tree = self._trees[line.submission]
            if record is None or (record.digest, record.files, record.bytes) != tree:
                yield f"{self._record_of(key)} is about another submission than the verdict"
            elif record.outcome != line.outcome or paid(record.effort) != paid(line.effort):
                yield f"{self._record_of(key)} tells of another outcome, cost or number of turns than the verdict"

    def handed_in(self) -> dict[tuple[str, str], Path]:
        """Return where every submission lies that holds a file, by task and digest."""
        return {
            (key.task, line.submission): self._submissions / _name(line.submission)
            for key, line in self.lines.items()
            if line.submission is not None and self._trees[line.submission].files
        }

    def lay_out(self, keys: Collection[AttemptKey]) -> None:
        """Put the submissions of *keys* where a run's folder has them, to be graded again."""
        for key in keys:
            digest = self.lines[key].submission
            if digest is not None:
                copy_tree(self._submissions / _name(digest), self.run.attempt(key).submission)
            else:  # whatever record of one the bundle has
                self.run.attempt(key).submission_file.unlink(missing_ok=True)

    def give(self, timeout_s: float | None) -> None:
        """Let tests have *timeout_s* (None: what their recipes say) and no image of the run's choice."""
        config = self.run.config()
        config = _write_config(self.run.config_file, config, config.configuration.but(timeout_s=timeout_s))
        verdicts = self.run.path / "verdicts.jsonl"
        lines, lock = sealed_anew(written_lines(verdicts), config, self.run.lock().but(images={}))
        write_atomically(verdicts, lines)
        self._write_lock(lock)

    def _write_lock(self, lock: LockFile) -> None:
        write_atomically(self.run.path / "lock.json", lock.model_dump_json(indent=1).encode() + b"\n")


def pack(run: RunFolder, path: Path, disclosure: Disclosure) -> BundleManifest:
    """Write *run* as a bundle to *path*, a `.tar.gz`. Raises `UsageError` for a run that is not finished."""
    refuse_others(path)
    config, records = run.config(), run.records()
    if unfit := records.told(run.path):
        raise UsageError(unfit)
    lines = records.lines
    if pending := config.planned.pending(lines):
        raise UsageError(
            f"{config.run_id}: {count(len(pending), 'attempt')} without a verdict; `groundup resume` it first"
        )
    files = {name: run.path / name for name in _FILES if (run.path / name).is_file()}
    trees: dict[str, Path] = {}
    for key, line in lines.items():
        attempt = run.attempt(key)
        record = attempt.record()
        if line.submission is None or record is None:
            continue
        if record.digest != line.submission or tree_digest(attempt.submission).digest != line.submission:
            raise UsageError(f"the submission of {key} was changed after its verdict; restore it first")
        trees[line.submission] = attempt.submission
        files[str(attempt.submission_file.relative_to(run.path))] = attempt.submission_file
    with scratch_folder("pack") as room:
        files |= _without_places(run, room)
        manifest = BundleManifest(
            groundup=__version__,
            disclosure=disclosure,
            files={name: _sha256(file) for name, file in sorted(files.items())},
            submissions=tuple(sorted(trees)),
        )
        listed = room / MANIFEST
        write_atomically(listed, manifest.model_dump_json(indent=1).encode() + b"\n")
        _write(path, listed, files, trees)
    return manifest


def _without_places(run: RunFolder, room: Path) -> dict[str, Path]:
    """Write *run* without its attempts to *room*, of paths here only the last name; return its files."""
    made = {name: room / name for name in _FILES}
    config = run.config()
    shared = _last_names(config.configuration.model_dump(mode="json"))
    config = _write_config(made["config.json"], config, RunConfiguration.model_validate(shared))
    lock = LockFile.model_validate(_last_names(run.lock().model_dump(mode="json")))
    lines, lock = sealed_anew(written_lines(run.path / "verdicts.jsonl"), config, lock, _for_others)
    write_atomically(made["verdicts.jsonl"], lines)
    write_atomically(made["lock.json"], lock.model_dump_json(indent=1).encode() + b"\n")
    return made


def _for_others(line: VerdictLine) -> VerdictLine:
    """Return *line* without what hidden tests said."""
    if line.verdict is None:
        return line
    return line.but(verdict=line.verdict.but(reasons=tuple(map(reason_for_others, line.verdict.reasons))))


def _write_config(path: Path, config: ConfigFile, configuration: RunConfiguration) -> ConfigFile:
    digest = ConfigFile.digest_for(configuration, config.planned, config.pinned, config.left_out)
    made = config.but(configuration=configuration, digest=digest)
    write_atomically(path, made.model_dump_json(indent=1).encode() + b"\n")
    return made


def _last_names(value: JsonValue) -> JsonValue:
    """Return *value* with the last name of each absolute path, also where it names an image."""
    if isinstance(value, dict):
        return {str(_last_names(name)): _last_names(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_last_names(one) for one in value]
    found = _PLACE.fullmatch(value) if isinstance(value, str) else None
    return value if found is None else f"{found['kind'] or ''}{found['name']}"


def _write(path: Path, listed: Path, files: dict[str, Path], trees: dict[str, Path]) -> None:
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with disk_errors(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            with tarfile.open(partial, "w:gz", format=tarfile.PAX_FORMAT) as tar:
                tar.add(listed, MANIFEST, filter=anonymous)
                for name, file in sorted(files.items()):
                    tar.add(file, f"run/{name}", filter=anonymous)
                for digest, tree in sorted(trees.items()):
                    tar.add(tree, f"submissions/{_name(digest)}", filter=anonymous)
            note_made(path, digest_of_file(partial))
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def unpack(path: Path, folder: Path) -> Bundle:
    """Unpack the bundle at *path* to the absent or empty *folder* and check it. Raises `UsageError`."""
    if not path.is_file():
        raise UsageError(f"{path} is no file; name a bundle that `groundup leaderboard pack` wrote")
    try:
        taken = extract_archive(path, folder, LIMITS)
    except SubmissionError as error:
        raise UsageError(f"{path} is no bundle: {error}") from error
    if taken.dropped:
        raise UsageError(f"{path} holds what no bundle does: {taken.dropped[0]}")
    return Bundle(folder)


def _regular(folder: Path) -> Iterator[Path]:
    """Yield what is no folder below *folder*; a link is none of a bundle's files and fails to be one."""
    yield from (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


def _sha256(path: Path) -> str:
    return hashlib.sha256(read_regular(path, _FILE_BYTES)).hexdigest()


def _name(digest: str) -> str:
    """Return a digest as the name of a folder. Raises `UsageError` for what is none, such as a path."""
    name = digest.replace(":", "-")
    if not name.replace("-", "").isalnum():
        raise UsageError(f"{digest!r} is no digest")
    return name
