"""A run's folder: `RunFolder` reads it, `RunWriter` alone changes it, and one process at a time holds its lock."""

import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Self, TypeVar

from pydantic import JsonValue, ValidationError

from groundup.domain.errors import InfrastructureError, MachineError, UsageError
from groundup.domain.inventory import Inventory
from groundup.domain.names import checked_name
from groundup.domain.records import Record, plainly
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import TestResult
from groundup.store.attempts import AttemptFolder, AttemptWriter
from groundup.store.checking import CONFIG, LOCK, VERDICTS, RunRecords, read_records
from groundup.store.files import Closeable, Journal, write_atomically
from groundup.store.lines import Chain, encode, written_lines
from groundup.store.ownership import NOTES, is_made
from groundup.store.records import (
    Begun,
    ConfigFile,
    FleetFile,
    Generated,
    JournalEnd,
    LockFile,
    Served,
    Start,
    VerdictLine,
)
from groundup.trees.walking import LARGE, read_regular, remove_tree
from groundup.trees.writer import disk_errors

LOCK_NAME = ".lock"
REPORT = "report.json"
_NODES = "nodes.json"
_RECORDS = (CONFIG, LOCK, VERDICTS, REPORT, "judgements.jsonl", _NODES)
_OF_RUNS = frozenset({*_RECORDS, LOCK_NAME, NOTES, "attempts", "scratch"})
"""Names of what runs, judges and reports write into a run's folder."""


class Hold:
    """The exclusive hold on a run folder, until it is closed or the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        """Take the hold. Raises `UsageError` naming the process that has it, and `InfrastructureError`."""
        path = folder / LOCK_NAME
        with disk_errors(folder):
            # Closed on exec, so no program that a run starts can keep it alive.
            self._file = path.open("a+b", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._file.fileno(), 32, 0).decode("ascii", "replace").strip() or "unknown"
            self.close()
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise InfrastructureError(f"{path} cannot be locked: {error.strerror or error}") from error
            raise UsageError(
                f"process {holder} is working on the run {folder.name!r}: wait until it ends, or name another run"
            ) from error
        try:
            with disk_errors(folder):
                self._file.truncate(0)
                self._file.write(f"{os.getpid()}\n".encode())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give the folder back. Can be called twice."""
        self._file.close()


def is_held(folder: Path) -> bool:
    """Whether some process works on the run in *folder*."""
    try:
        descriptor = os.open(folder / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


R = TypeVar("R", bound=Record)


class RunFolder:
    """Reads a run; another process may be working on it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.scratch = path / "scratch"

    @property
    def config_file(self) -> Path:
        """Where the configuration lies."""
        return self.path / CONFIG

    def config(self) -> ConfigFile:
        """Return the configuration; raises `UsageError` when *path* holds no run."""
        found = self._read(self.config_file, ConfigFile)
        if found is None:
            raise UsageError(f"{self.path} is not a run folder: it has no config.json; `groundup runs` lists runs")
        expected = ConfigFile.digest_for(found.configuration, found.planned, found.pinned, found.left_out)
        if found.digest != expected:
            raise UsageError(
                f"{self.config_file} was changed after the run began (its digest differs); restore it"
            )
        if not isinstance(found.configuration.submissions, Served):
            return found
        keys = self.begun()
        attempts = 1 + max((key.index for key in keys), default=0)
        begun = Begun(tasks=found.planned.tasks, attempts=attempts, listed=keys)
        return found.but(planned=begun)

    def is_listed(self) -> bool:
        """Whether lists of runs show it: there is a configuration or verdicts, however damaged they are.

        What a folder holds that cannot be entered is not known: it is listed as well.
        """
        if not os.access(self.path, os.X_OK):
            return self.path.is_dir()
        return any(os.path.lexists(self.path / name) for name in (CONFIG, VERDICTS))

    def was_run(self) -> bool:
        """Whether this is a run's folder, be it one that cannot be read any more."""
        return os.path.lexists(self.path / VERDICTS) or self.is_run()

    def is_run(self) -> bool:
        """Whether this is a run's folder: a submission may hold a file `config.json`, too."""
        try:
            return isinstance(json.loads(read_regular(self.config_file, LARGE)).get("planned"), dict)
        except (OSError, ValueError, AttributeError, RecursionError):
            return False

    def others(self) -> list[Path]:
        """Return what lies in the folder that neither a run writes nor groundup wrote into it otherwise."""
        return [
            entry
            for entry in self.path.iterdir()
            if entry.name not in _OF_RUNS
            and not re.fullmatch(r"\..*\.(partial|gone)", entry.name)
            and not is_made(entry)
        ]

    def begun(self) -> tuple[AttemptKey, ...]:
        """Return the attempts that have a folder or a line, first indexes first."""
        places = [place for place in self.path.glob("attempts/*/*") if place.name.isdecimal()]
        keys = {AttemptKey(task=place.parent.name, index=int(place.name)) for place in places}
        keys |= {line.attempt for line in self.lines()}
        return tuple(sorted(keys, key=lambda key: (key.index, key.task)))

    def lock(self) -> LockFile:
        """Return which processes worked on the run so far, with what tools."""
        return self._locked() or LockFile()

    def _locked(self) -> LockFile | None:
        return self._read(self.path / LOCK, LockFile)

    def fleet(self) -> FleetFile | None:
        """Return the nodes that grade for the run while a process works on it; None: it uses no fleet."""
        return self._read(self.path / _NODES, FleetFile)

    def lines(self) -> Iterator[VerdictLine]:
        """Yield all verdict lines as they are written, without what cannot be read; `records` checks them."""
        return (one.line for one in written_lines(self.path / VERDICTS) if one.line is not None)

    def records(self, *, files: bool = True) -> RunRecords:
        """Return the verdicts, checked against the rest of the run; without *files*, not against each attempt's.

        Raises `UsageError` where there is no run, or no verdict can be read at all.
        """
        return read_records(self.path, self.config(), self._locked, lambda: is_held(self.path), attempts=files)

    def latest(self) -> dict[AttemptKey, VerdictLine]:
        """Return the line that counts for each attempt that has one; one that does not fit has no score."""
        return self.records().lines

    def made(self, config: ConfigFile, lines: Mapping[AttemptKey, VerdictLine]) -> frozenset[AttemptKey]:
        """Return the attempts whose submissions an agent has made, as far as *lines* have no score of them yet."""
        if not isinstance(config.configuration.submissions, Generated):
            return frozenset()
        return frozenset(key for key in config.planned.pending(lines) if self.attempt(key).made())

    def attempt(self, key: AttemptKey) -> AttemptFolder:
        """Return the folder of one attempt."""
        return AttemptFolder(self.place(key))

    def place(self, key: AttemptKey) -> Path:
        """Return where an attempt's folder lies."""
        return self.path / f"attempts/{key.task}/{key.index}"

    def write_report(self, document: JsonValue) -> None:
        """Write `report.json`. Needs no hold: it is made from what the other files say."""
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        write_atomically(self.path / REPORT, text.encode() + b"\n")

    @staticmethod
    def _read(path: Path, kind: type[R]) -> R | None:
        try:
            return kind.model_validate_json(read_regular(path, LARGE))
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise UsageError(f"{path} cannot be read: {_why_unreadable(error)}") from error


def runs_in(folder: Path) -> list[Path]:
    """Return the folders of runs in *folder*, by name, also those of runs that cannot be read any more."""
    return [path for path in sorted(folder.glob("*/")) if RunFolder(path).is_listed()]


class RunWriter(Closeable):
    """Holds a run folder while a process works on it. Use as a context."""

    def __init__(self, folder: RunFolder, config: ConfigFile, hold: Hold) -> None:
        self.folder = folder
        self.config = config
        self._hold = hold
        self._journal = Journal(folder.path / VERDICTS)
        self._turn = threading.Lock()
        self._chain = Chain(config)
        self._lock = folder.lock()
        self._chain.know(self._lock.starts)
        self.earlier = folder.records()
        """What earlier starts recorded, as far as it fits: read before a start changes anything."""
        self._follow()
        self._sweep()

    def _follow(self) -> None:
        """Go through the lines that are there, on which new ones follow; faults in them are known from now on."""
        whole = hashlib.sha256()
        for written in written_lines(self.folder.path / VERDICTS):
            self._chain.add(written.data, is_line=written.line is not None)
            whole.update(written.data)
        if self.earlier.faults:
            mended = JournalEnd(lines=self._chain.lines, chain=whole.hexdigest())
            self._lock = self._lock.but(mended=mended)

    @classmethod
    def create(cls, path: Path, config: ConfigFile) -> Self:
        """Make the folder of a new run; raises `UsageError` when there is one."""
        with disk_errors(path.parent):
            try:
                path.mkdir(parents=True, exist_ok=True)
            except FileExistsError as error:
                raise UsageError(f"{path} is a file; choose another --run-id or --output") from error
            # A process killed right here leaves a lock and nothing else: the next one takes the folder over.
            if any(entry.name != LOCK_NAME and not entry.name.endswith(".partial") for entry in path.iterdir()):
                _refuse_existing(path)
        hold = Hold(path)
        try:
            if (path / CONFIG).exists():
                _refuse_existing(path)
            write_atomically(path / CONFIG, config.model_dump_json(indent=1).encode() + b"\n")
            return cls(RunFolder(path), config, hold)
        except BaseException:
            hold.close()
            raise

    @classmethod
    def open(cls, path: Path) -> Self:
        """Continue a run; raises `UsageError` when there is none or another process works on it."""
        folder = RunFolder(path)
        folder.config()  # before anything is written into a folder that is no run
        for name in (REPORT, _NODES):  # which are written when the work is done
            if (path / name).is_dir():
                raise UsageError(f"{path / name} is a folder where a file is written; remove it or move it away")
        hold = Hold(path)
        try:
            return cls(folder, folder.config(), hold)
        except BaseException:
            hold.close()
            raise

    def began(self, start: Start, inventory: Inventory | None = None) -> int:
        """Record that a process works on the run; return its number, 0 for the first.

        *inventory* has the programs that its agents find.
        """
        lock = self._lock
        if inventory is not None:
            start = start.but(programs=inventory.digest)
            lock = lock.but(inventories={**lock.inventories, inventory.digest: inventory})
        self._write_lock(lock.but(starts=(*lock.starts, start)))
        return len(self._lock.starts) - 1

    def ended(self, number: int, ended_at: datetime, tools: Mapping[str, str]) -> None:
        """Record that the process stops working, and the tools that it found meanwhile."""
        starts = list(self._lock.starts)
        found = starts[number]
        starts[number] = found.but(ended_at=ended_at, tools={**found.tools, **tools})
        self._write_lock(self._lock.but(starts=tuple(starts)))

    def pin_image(self, name: str, image: str) -> None:
        """Record which *image* the sandboxes of *name* are made from."""
        self._write_lock(self._lock.but(images={**self._lock.images, name: image}))

    def _write_lock(self, lock: LockFile) -> None:
        self._check_there()
        with self._turn:
            self._chain.know(lock.starts)
            lock = lock.but(journal=JournalEnd(lines=self._chain.lines, chain=self._chain.end))
        self._lock = lock
        absent = {name for name in ("images", "inventories", "mended", "packed") if not getattr(lock, name)}
        text = lock.model_dump_json(indent=1, exclude=absent)
        write_atomically(self.folder.path / LOCK, text.encode() + b"\n")

    def _check_there(self) -> None:
        """Raise `MachineError` where somebody removed or moved the folder: to write would make it anew."""
        if not self._journal.is_there():
            raise MachineError(
                f"{self.folder.path} was removed or moved while this process worked on it, so nothing can be "
                "recorded; put it back and resume the run, or begin a new one"
            )

    def fleet(self, found: FleetFile | None) -> None:
        """Show which nodes work for the run now; None: no fleet any more."""
        if found is None:
            (self.folder.path / _NODES).unlink(missing_ok=True)
        else:
            write_atomically(self.folder.path / _NODES, found.model_dump_json(indent=1).encode() + b"\n")

    def attempt(self, key: AttemptKey) -> AttemptWriter:
        """Return the folder of one attempt, to write into it."""
        return AttemptWriter(self.folder.place(key))

    def record(
        self, line: VerdictLine, tests: Iterable[TestResult] = (), logs: Mapping[str, bytes] | None = None
    ) -> None:
        """Record what a try came to: its evidence, then its *line*, which is on the disk when this returns.

        Raises `DiskFullError`; then no line was added.
        """
        self._check_there()
        attempt = self.attempt(line.attempt)
        if line.verdict is not None:
            again = None if line.settles else line.try_number
            line = line.but(tests_digest=attempt.write_evidence(tests, logs or {}, again=again))
        with self._turn:
            sealed = self._chain.seal(encode(line), line.start)
            self._journal.append(sealed)
            self._chain.add(sealed)

    def scratch(self, key: AttemptKey) -> Path:
        """Return an empty folder for one attempt's grading, inside the run folder."""
        self._check_there()
        path = self.folder.scratch / f"{key.task}.{key.index}"
        remove_tree(path)
        with disk_errors(self.folder.path):
            path.mkdir(parents=True)
        return path

    def _sweep(self) -> None:
        """Remove what a killed process left half done; only the holder of the folder may write here."""
        self._clear_scratch()
        attempt = "attempts/*/*"
        for pattern in (
            _NODES,
            ".*.partial",
            f"{attempt}/.*.partial",
            f"{attempt}/.incoming",
            f"{attempt}/logs/**/.*.partial",
            f"{attempt}/agent/.*.partial",
        ):
            for torn in self.folder.path.glob(pattern):
                remove_tree(torn)

    def _clear_scratch(self) -> None:
        """Remove all scratch folders.

        The guests of a process that was killed a moment ago may still write there while they die, so what they
        have is renamed first. What cannot be removed yet goes when the folder is opened or closed the next time.
        """
        with suppress(FileNotFoundError):
            self.folder.scratch.rename(self.folder.path / f".scratch.{secrets.token_hex(6)}.gone")
        for aside in self.folder.path.glob(".scratch.*.gone"):
            with suppress(InfrastructureError):
                remove_tree(aside)

    def close(self) -> None:
        """Give the folder back. Can be called twice."""
        try:
            self._clear_scratch()
        finally:
            self._journal.close()
            self._hold.close()


def refuse_unusable(output: Path, run_id: str | None) -> None:
    """Raise `UsageError` where *output* can hold no new run called *run_id*; None: by a name of our own."""
    there = next((one for one in (output, *output.parents) if os.path.lexists(one)), None)
    if there is not None and not there.is_dir():
        raise UsageError(f"{there} is no folder; name another one with --output")
    if run_id is None:
        return
    if (output / checked_name(run_id) / CONFIG).exists():
        _refuse_existing(output / run_id)


def _refuse_existing(path: Path) -> None:
    if not (path / CONFIG).exists():
        raise UsageError(f"{path} holds other files and no run; choose another --run-id or --output")
    Hold(path).close()  # says so when a process works on it right now
    raise UsageError(f"the run {path} exists; finish it with `groundup resume {path}` or choose another --run-id")


def _why_unreadable(error: OSError | ValidationError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        newer = first["input"] if first["loc"] == ("format",) else None
        if isinstance(newer, int) and newer > 1:
            return f"a newer groundup wrote it, in format {newer}; update groundup"
        return f"{'.'.join(map(str, first['loc'])) or 'content'}: {plainly(first)}; restore it"
    mend = "change its mode or its owner" if isinstance(error, PermissionError) else "restore it"
    return f"{error.strerror or error}; {mend}"
