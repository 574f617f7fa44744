"""Numbers for Prometheus, in its text form; and events, as lines of JSON without texts or secrets of clients."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

from groundup.domain.verdicts import Verdict, counted
from groundup.serving.session import Session

_BUCKETS_S = (0.01, 0.05, 0.25, 1.0, 5.0, 30.0, 120.0, 600.0, 3600.0)
_PREFIX = "groundup"

Labels = tuple[tuple[str, str], ...]


class _Histogram:
    """How many values were at most so large."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.counts = dict.fromkeys(bounds, 0)
        self.total, self.sum = 0, 0.0

    def add(self, value: float) -> None:
        self.total += 1
        self.sum += value
        for bound in self.counts:
            self.counts[bound] += value <= bound


class Metrics:
    """Counts what happens. *gauges* are asked when somebody reads them."""

    def __init__(self, gauges: Mapping[str, Callable[[], float]] | None = None) -> None:
        self._gauges = dict(gauges or {})
        self._counts: Counter[tuple[str, Labels]] = Counter()
        self._seconds: dict[tuple[str, Labels], _Histogram] = {}

    def gauge(self, name: str, value: Callable[[], float]) -> None:
        self._gauges[name] = value

    def count(self, name: str, **labels: str) -> None:
        self._counts[name, tuple(sorted(labels.items()))] += 1

    def took(self, name: str, seconds: float, **labels: str) -> None:
        self._added(name, seconds, _BUCKETS_S, labels)

    def rewarded(self, reward: float) -> None:
        self._added("reward", reward, (0.0, 0.25, 0.5, 0.75, 0.999, 1.0), {})

    def _added(self, name: str, value: float, bounds: tuple[float, ...], labels: Mapping[str, str]) -> None:
        key = name, tuple(sorted(labels.items()))
        self._seconds.setdefault(key, _Histogram(bounds)).add(value)

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        for name, value in self._gauges.items():
            yield f"# TYPE {_PREFIX}_{name} gauge"
            yield f"{_PREFIX}_{name} {value():g}"
        for name in sorted({name for name, _ in self._counts}):
            yield f"# TYPE {_PREFIX}_{name}_total counter"
            for (one, labels), count in sorted(self._counts.items()):
                if one == name:
                    yield f"{_PREFIX}_{name}_total{_shown(labels)} {count}"
        for name in sorted({name for name, _ in self._seconds}):
            yield f"# TYPE {_PREFIX}_{name} histogram"
            for (one, labels), found in sorted(self._seconds.items(), key=lambda item: item[0]):
                if one == name:
                    yield from _histogram(name, labels, found)


def _histogram(name: str, labels: Labels, found: _Histogram) -> Iterator[str]:
    for bound, count in found.counts.items():
        yield f"{_PREFIX}_{name}_bucket{_shown((*labels, ('le', f'{bound:g}')))} {count}"
    yield f"{_PREFIX}_{name}_bucket{_shown((*labels, ('le', '+Inf')))} {found.total}"
    yield f"{_PREFIX}_{name}_sum{_shown(labels)} {found.sum:.6f}"
    yield f"{_PREFIX}_{name}_count{_shown(labels)} {found.total}"


def _shown(labels: Labels) -> str:
    if not labels:
        return ""
    escaped = (
        (name, value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")) for name, value in labels
    )
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"


class Log:
    """Writes events, one line of JSON each."""

    def __init__(self, write: Callable[[str], object] | None = None) -> None:
        self._write = write or _to_standard_error

    def event(self, name: str, **fields: str | float | None) -> None:
        """Write one; fields that are None are left out."""
        known = {key: value for key, value in fields.items() if value is not None}
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._write(json.dumps({"at": at, "event": name, **known}, ensure_ascii=True))


def _to_standard_error(line: str) -> None:
    sys.stderr.write(f"{line}\n")


class Watching:
    """Puts what happens in sessions into numbers and events."""

    def __init__(self, metrics: Metrics, log: Log) -> None:
        self._metrics = metrics
        self._log = log

    def opened(self, session: Session, seconds: float) -> None:
        self._metrics.took("opening_seconds", seconds)
        self._log.event("opened", **_who(session), seconds=round(seconds, 3))

    def called(self, session: Session, tool: str, how: str, seconds: float) -> None:
        self._metrics.count("calls", tool=tool, how=how)
        self._metrics.took("call_seconds", seconds, tool=tool)
        self._log.event("called", **_who(session), tool=tool, how=how, seconds=round(seconds, 3))

    def graded(self, session: Session, verdict: Verdict) -> None:
        value = counted(verdict)
        if value is not None:
            self._metrics.rewarded(value)
        self._log.event("graded", **_who(session), status=verdict.status.value, score=value)

    def ended(self, session: Session, how: str) -> None:
        kind = "finished" if session.finished else "left" if session.key else "waited"
        self._metrics.count("sessions", how=kind)
        self._log.event("ended", **_who(session), how="finished" if session.finished else how)


def _who(session: Session) -> dict[str, str | None]:
    return {"session": session.name[:40], "client": session.client, "attempt": session.key or session.task.id}
