"""The tasks of a suite at a glance: the table of what ships with groundup, without importing what runs need."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from groundup.configuration import default_cache, gathered
from groundup.store.oracles import oracle_runs


class Glance(NamedTuple):
    """The table that `groundup.tasks` shows, without the records behind it."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    groups: Sequence[str]
    """Names that stand for several tasks."""


def tasks_at_a_glance(suite: str, output: Path | None) -> Glance | None:
    """Return the table of *suite*'s tasks; None where the suite itself has to be asked."""
    if suite != "nl2repobench" or not _is_fresh(suite, output):
        return None
    from groundup.suites.nl2repobench.listing import shipped_groups, shipped_rows

    cache = gathered(("cache_dir",), {}).get("cache_dir") or default_cache()
    version, columns, rows = shipped_rows(Path(cache))
    title = f"{suite} {version}: {len(rows)} tasks"
    return Glance(title, (*columns, "last oracle"), [(*row, "-") for row in rows], shipped_groups())


def _is_fresh(suite: str, output: Path | None) -> bool:
    """Whether there is no data of *suite*, no run of its oracle, and no setting that must be checked."""
    given = gathered(("output", "cache_dir", "data_dir"), {"output": output})
    folder, cache, data = (given.pop(name, None) for name in ("output", "cache_dir", "data_dir"))
    if given or not all(isinstance(value, str | Path | None) for value in (folder, cache, data)):
        return False
    data = data or Path(cache or default_cache()) / "data"
    if (Path(data) / suite).exists():
        return False
    return next(oracle_runs(Path("runs" if folder is None else folder), suite), None) is None
