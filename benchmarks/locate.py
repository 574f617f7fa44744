"""Accuracy of `groundup curate locate` on real workflow files: `python -m benchmarks.locate --mirror PATTERN`.

`samples/test_jobs.jsonl` names repositories at commits, each with hand-made answers, written after reading the
files: workflow file, job, and for each key of the matrix the values that are right. A repository whose
workflows run no tests has no answer. Several answers are alternatives. PATTERN says where the repositories lie,
with {host}, {owner} and {name}; those that are not there are counted and left out.

Rules were written while looking at the `development` set only. `held-out` was read and answered when the rules
were done, and run afterwards; `held-out again` when its misses had been mended. The first runs stand in
docs/developers/measurements.md.
"""

import argparse
import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groundup_factory.instances.locating import JobCandidate, Located, locate

SAMPLES = Path(__file__).parent / "samples" / "test_jobs.jsonl"
HALVES = ("development", "held-out", "held-out again")
LARGEST = 1024 * 1024


class GitTree:
    """A commit in a Git directory."""

    def __init__(self, folder: Path, commit: str) -> None:
        self._folder = folder
        self._commit = commit
        self._paths: frozenset[str] | None = None
        self._read: dict[str, bytes | None] = {}

    def paths(self) -> frozenset[str]:
        """Return the relative paths of all files."""
        if self._paths is None:
            entries = [
                entry.split(b"\t", 1) for entry in self._git("ls-tree", "-r", "-z", self._commit).split(b"\0")
            ]
            self._paths = frozenset(
                entry[1].decode(errors="replace") for entry in entries if len(entry) == 2 and b" blob " in entry[0]
            )
        return self._paths

    def read(self, path: str) -> bytes | None:
        """Return a file's content."""
        if path not in self._read:
            data = self._git("show", f"{self._commit}:{path}") if path in self.paths() else None
            self._read[path] = data if data is not None and len(data) <= LARGEST else None
        return self._read[path]

    def _git(self, *arguments: str) -> bytes:
        return subprocess.run(
            ["git", "--git-dir", self._folder, *arguments], capture_output=True, check=True
        ).stdout


def folder_of(repository: str, mirror: str) -> Path:
    """Return where *repository* (host/owner/name) lies."""
    host, owner, name = repository.split("/")
    return Path(mirror.format(host=host, owner=owner, name=name))


def agrees(found: Located, answers: Sequence[Mapping[str, Any]]) -> tuple[bool, bool, bool]:
    """Return whether file, job and leg are as one of the answers says."""
    best = found.best
    if not answers or best is None:
        return (not answers and best is None,) * 3
    same = [answer for answer in answers if answer["workflow"] == best.workflow]
    jobs = [answer for answer in same if answer["job"] == best.job]
    return bool(same), bool(jobs), any(leg_agrees(best, answer["leg"]) for answer in jobs)


def leg_agrees(best: JobCandidate, wanted: Mapping[str, Sequence[str]]) -> bool:
    """Return whether every key that the answer speaks of has one of its values."""
    return all(best.leg.get(key) in values for key, values in wanted.items())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", required=True, help="such as mirrors/{owner}/{name}.git")
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--verbose", "-v", action="store_true")
    arguments = parser.parse_args()
    counts: dict[tuple[str, str], Counter[str]] = {}
    for line in SAMPLES.read_text(encoding="utf-8").splitlines():
        sample = json.loads(line)
        if arguments.half not in (None, sample["half"]):
            continue
        count = counts.setdefault((sample["half"], sample["language"]), Counter())
        folder = folder_of(sample["repository"], arguments.mirror)
        if not folder.is_dir():
            count["absent"] += 1
            continue
        found = locate(GitTree(folder, sample["commit"]))
        file, job, leg = agrees(found, sample["answers"])
        count.update(repositories=1, file=file, job=job, leg=leg)
        if arguments.verbose and not leg:
            print_miss(sample, found)
    print_table(counts)


def print_miss(sample: Mapping[str, Any], found: Located) -> None:
    """Print what was wanted and what was found."""
    print(f"\n{sample['repository']} wanted {sample['answers']}")
    for candidate in found.candidates[:3]:
        print(f"   {candidate.score:5.1f} {candidate.workflow}: {candidate.job} {candidate.leg}")
        print(f"         {candidate.commands[:2]}")
        print(f"         {'; '.join(candidate.reasons)}")
    for sentence in found.unread:
        print(f"   {sentence}")


def print_table(counts: Mapping[tuple[str, str], Counter[str]]) -> None:
    """Print shares by half and language."""
    print(f"\n{'half':15} {'language':11} {'file':>9} {'job':>9} {'leg':>9} {'absent':>7}")
    for half in HALVES:
        whole: Counter[str] = Counter()
        for (of, language), count in sorted(counts.items()):
            if of == half:
                whole.update(count)
                print_row(half, language, count)
        if whole:
            print_row(half, "all", whole)


def print_row(half: str, language: str, count: Counter[str]) -> None:
    """Print one row."""
    number = count["repositories"]
    shares = " ".join(f"{f'{count[what]}/{number}':>9}" for what in ("file", "job", "leg"))
    print(f"{half:15} {language:11} {shares} {count['absent']:>7}")


if __name__ == "__main__":
    main()
