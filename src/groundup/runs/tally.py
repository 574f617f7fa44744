"""Counting a run's attempts while it goes on."""

import time
from collections import Counter

from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import Status, Verdict
from groundup.runs.progress import Standing
from groundup.store.records import VerdictLine


class Tally:
    """Follows verdict lines; keeps one word per attempt, however long the lines were."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._kinds: dict[AttemptKey, str] = {}
        self._failed: dict[AttemptKey, str] = {}
        self._cached: set[AttemptKey] = set()
        self._made = 0
        self._running = 0
        self._graded_now = 0
        self._began = time.monotonic()

    def earlier(self, line: VerdictLine) -> None:
        """Count a line of an earlier start."""
        self._count(line)

    def began(self) -> None:
        """Count an attempt that goes on now."""
        self._running += 1

    def abandoned(self) -> None:
        """Count an attempt as not going on any more: somebody stopped the run."""
        self._running -= 1

    def made(self, key: AttemptKey, *, now: bool) -> None:
        """Count a submission that is there and is not graded by this start, whatever failed before."""
        self._made += 1
        self._kinds.pop(key, None)
        self._running -= now

    def ended(self, line: VerdictLine) -> None:
        """Count a line of this start."""
        self._running -= 1
        self._count(line)
        if line.settles and not line.cached and line.verdict is not None:
            self._graded_now += 1

    def standing(self) -> Standing:
        """Return the counts as they are now."""
        kinds = Counter(self._kinds.values())
        infrastructure = kinds[Status.INFRASTRUCTURE]
        settled = len(self._kinds) - infrastructure
        left_s = None
        if self._graded_now:
            left_s = (time.monotonic() - self._began) / self._graded_now * (self._total - settled)
        return Standing(
            total=self._total,
            settled=settled,
            running=self._running,
            graded=kinds[Status.GRADED],
            tampered=kinds[Status.TAMPERED],
            not_attempted=kinds["not_attempted"],
            infrastructure=infrastructure,
            cached=len(self._cached),
            made=self._made,
            failed=dict(sorted(Counter(self._failed.values()).items())),
            left_s=left_s,
        )

    def _count(self, line: VerdictLine) -> None:
        key = line.attempt
        self._kinds[key] = line.verdict.status if line.verdict else "not_attempted"
        self._failed.pop(key, None)
        if line.verdict and (stage := _lost_at(line.verdict)):
            self._failed[key] = stage
        if line.cached:
            self._cached.add(key)


def _lost_at(verdict: Verdict) -> str | None:
    """Return where a graded verdict lost points, as far as it says."""
    if verdict.status is Status.INFRASTRUCTURE or (verdict.score and verdict.score.value == 1.0):
        return None
    return verdict.reasons[0].stage.value if verdict.reasons else None
