"""Which places runs may have among each other: intervals of ranks. Pure; numpy loads when asked for."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from groundup.domain.records import Record
from groundup.reports.intervals import LEVEL, RESAMPLES, SEED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RANKS = f"studentised bootstrap over shared tasks, {RESAMPLES} resamples, seed {SEED}"
_LEAST_TASKS = 2
SURE_FROM = 10
"""Over fewer, an interval spans all places: with 2 tasks, they held the true place in 73 % of samples."""
FEW = f"fewer than {SURE_FROM} shared tasks tell no places apart"
_PIECE = 500
"""Resamples at once: 1,000 tasks need 4 MB."""


class Rank(Record):
    """A run's place among several, 1 being the best, by the mean over the tasks that all have a score for."""

    run: str
    tasks: int
    score: float = Field(description="mean over the shared tasks, a share of 1")
    rank: int = Field(description="1 + runs with a higher mean")
    low: int = Field(description="the best place that the data allows with 95 % confidence")
    high: int = Field(description="the worst such place")
    level: float = LEVEL
    method: str = RANKS


def ranks(runs: Sequence[tuple[str, Mapping[str, float]]], resamples: int = RESAMPLES) -> tuple[Rank, ...]:
    """Rank *runs*, each a name with its score by task, over the tasks that all have; nothing for fewer than two.

    Over fewer than `SURE_FROM` tasks, means order the runs and every interval spans all places.
    A run's interval leaves out the places of runs that are surely better or worse. All differences between it
    and the others are looked at together: the 95 % quantile of their largest studentised deviation over
    resamples is the critical value. Mogstad, Romano, Shaikh and Wilhelm (2024), "Inference for Ranks with
    Applications to Mobility across Neighbourhoods and Academic Achievement across Countries", 3.1. Percentiles
    of resampled ranks, by contrast, do not cover where runs are nearly equal (Hall and Miller (2009), "Using the
    bootstrap to quantify the authority of an empirical ranking").
    """
    shared = [task for task in runs[0][1] if all(task in scores for _, scores in runs)] if runs else []
    if len(runs) < 2 or len(shared) < _LEAST_TASKS:
        return ()
    import numpy as np

    values = np.array([[scores[task] for task in shared] for _, scores in runs])  # runs x tasks
    means = values.mean(axis=1)
    resampled = _resampled_means(values, resamples)
    few = len(shared) < SURE_FROM
    made = []
    for place, (name, _) in enumerate(runs):
        others = np.delete(np.arange(len(runs)), place)
        differences = means[others] - means[place]
        deviations = resampled[:, others] - resampled[:, [place]] - differences
        errors = deviations.std(axis=0)
        moving = errors > 1e-12  # a difference that is the same for every task is certain
        largest = np.abs(deviations[:, moving] / errors[moving]).max(axis=1, initial=0.0)
        reach = np.quantile(largest, LEVEL) * errors + 1e-12
        made.append(
            Rank(
                run=name,
                tasks=len(shared),
                score=float(means[place]),
                rank=1 + int((differences > 1e-12).sum()),
                low=1 if few else 1 + int((differences > reach).sum()),
                high=len(runs) if few else len(runs) - int((differences < -reach).sum()),
                method=FEW if few else RANKS,
            )
        )
    return tuple(sorted(made, key=lambda one: (one.rank, one.low, one.high)))


def _resampled_means(values: "NDArray[np.float64]", resamples: int) -> "NDArray[np.float64]":
    """Return the mean of each run over tasks drawn with replacement, the same tasks for all: resamples x runs."""
    import numpy as np

    tasks = values.shape[1]
    generator = np.random.default_rng(SEED)
    pieces = []
    for _ in range(resamples // _PIECE):
        drawn = generator.multinomial(tasks, np.full(tasks, 1 / tasks), size=_PIECE)
        pieces.append(drawn @ values.T / tasks)
    return np.concatenate(pieces)
