"""A fleet larger than any that was tried, simulated: `python -m benchmarks.fleet_simulation [--nodes 9] ...`.

Follows each attempt from the driver's processor (one after the other) over the scheduler's to a slot. Where the
node lacks the task's layers, they come from a node that has them, whose line its takers share; where none has
them yet, they are built. Prints how long the run takes and what limits it, the traffic of layers, and the bytes
that the driver writes. Of the defaults, those of `MEASURED` are from the machine of docs/fleet.md; the others are
assumptions, and the model's side is arithmetic.
"""

import argparse
import heapq
import random
import sys
from collections import Counter
from dataclasses import dataclass, field

# By benchmarks/fleet.py --attempts 1000 --kill-every 0, and by benchmarks/fleet_layers.py for every fifth recipe.
MEASURED = {
    "driver-ms": 6.4, "scheduler-ms": 2.4, "node-ms": 8.1, "tasks": 104,
    "layer-mb": 20.8, "layer-unpacked-mb": 68.0, "unpack-mbs": 30.0, "kept-kb": 499.0,
}  # fmt: skip
ASSUMED = {
    "attempts": 100_000, "nodes": 1000, "slots": 8, "grading-s": 20.0, "spread": 1.0, "build-s": 30.0,
    "line-mbit": 1000.0, "asked": 3, "tokens": 500_000.0, "tokens-per-minute": 30_000_000.0,
}  # fmt: skip


@dataclass
class Fleet:
    """What is simulated: constants in seconds, bytes and bytes per second."""

    given: argparse.Namespace
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    has: dict[int, list[tuple[float, int]]] = field(default_factory=dict)
    """Task -> from when which node has its layers."""
    uploads: Counter[int] = field(default_factory=Counter)
    """Node -> how many took layers from it."""
    built: int = 0
    fetched: int = 0
    line_free: dict[int, float] = field(default_factory=dict)
    """Node -> when it has sent what it was asked for."""

    def layers_at(self, node: int, task: int, now: float) -> float:
        """Return when *node* has the layers of *task*, if it begins to get them *now*."""
        having = self.has.setdefault(task, [])
        if any(where == node for _, where in having):
            return max(now, next(since for since, where in having if where == node))
        ready = [where for since, where in having if since <= now]
        if ready:
            asked = self.chance.sample(ready, min(len(ready), self.given.asked))
            holder = min(asked, key=lambda where: self.line_free.get(where, 0.0))
            begins = max(now, self.line_free.get(holder, 0.0))
            done = begins + self.given.layer_mb * 1e6 / (self.given.line_mbit * 1e6 / 8)
            self.line_free[holder], self.uploads[holder] = done, self.uploads[holder] + 1
            self.fetched += 1
            done += self.given.layer_unpacked_mb / self.given.unpack_mbs
        else:
            done = now + float(self.given.build_s)
            self.built += 1
        having.append((done, node))
        return float(done)

    def run(self) -> tuple[float, float]:
        """Return when the last attempt ends, and for how much of the slots' time attempts were graded."""
        given = self.given
        free = [(0.0, node, slot) for node in range(given.nodes) for slot in range(given.slots)]
        heapq.heapify(free)
        central_s = max(given.driver_ms, given.scheduler_ms) / 1000  # they are two processes
        handed, last, busy = 0.0, 0.0, 0.0
        for number in range(given.attempts):
            since, node, slot = heapq.heappop(free)
            handed = max(handed, since) + central_s
            task = number * given.tasks // given.attempts if given.grouped else number % given.tasks
            begins = self.layers_at(node, task, handed + given.node_ms / 1000)
            grading = self.chance.lognormvariate(0.0, given.spread) * given.grading_s
            last, busy = max(last, begins + grading), busy + grading
            heapq.heappush(free, (begins + grading, node, slot))
        return last, busy / (last * given.nodes * given.slots)


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in {**MEASURED, **ASSUMED}.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    parser.add_argument("--grouped", action="store_true", help="task by task, not all tasks in turn")
    given = parser.parse_args()
    fleet = Fleet(given)
    ends_s, used = fleet.run()
    traffic_gb = fleet.fetched * given.layer_mb / 1000
    print(f"{given.attempts:,} attempts on {given.nodes:,} nodes of {given.slots} slots: {ends_s / 60:.0f} min")
    print(
        f"slots that graded: {used:.0%}; the driver alone needs {given.attempts * given.driver_ms / 60e3:.0f} min"
    )
    busiest = max(fleet.uploads.values(), default=0) * given.layer_mb / 1000
    print(f"layers: {fleet.built:,} built, {fleet.fetched:,} taken from others, {traffic_gb:,.0f} GB", end="")
    print(f", {busiest:.1f} GB of them from the busiest node")
    print(f"the driver writes {given.attempts * given.kept_kb / 1e6:,.0f} GB", end="")
    print(f", {given.attempts * given.kept_kb / 1e3 / ends_s:,.0f} MB/s")
    made_min = given.attempts * given.tokens / given.tokens_per_minute
    print(f"agents: {given.tokens_per_minute:,.0f} tokens a minute make all submissions in {made_min:,.0f} min")
    return 0


if __name__ == "__main__":
    sys.exit(main())
