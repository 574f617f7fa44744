"""Which submissions are a suite's own, or nearly: handed in under another name, they say nothing of it."""

from collections.abc import Mapping
from pathlib import Path

from groundup.domain.errors import GroundupError
from groundup.domain.subjects import AttemptKey
from groundup.episodes.backends import opened_context
from groundup.runs.submissions import ReferenceSource
from groundup.settings import Settings
from groundup.suites.base import Suite
from groundup.trees.likeness import HandedIn, written_lines
from groundup.trees.scratch import async_scratch_folder

EMPTY = "nop"
"""A subject whose submission many hand in without having seen it."""


async def own_references(
    suite: Suite, handed_in: Mapping[tuple[str, str], Path], settings: Settings
) -> dict[tuple[str, str], str]:
    """Return whose submission each of *handed_in* is, by task and digest. What cannot be made here is left out."""
    found: dict[tuple[str, str], str] = {}
    every = suite.by_name()
    async with async_scratch_folder("references") as room, opened_context(settings) as context:
        for task in sorted({task for task, _ in handed_in} & every.keys()):
            theirs = [
                HandedIn(of, digest, written_lines(tree, every[task]))
                for (of, digest), tree in handed_in.items()
                if of == task
            ]
            for subject in suite.subjects:
                if subject == EMPTY:
                    continue
                place = Path(room) / subject / task
                place.mkdir(parents=True)
                try:
                    made = await ReferenceSource(suite, subject).take_in(
                        every[task], AttemptKey(task=task), place, context
                    )
                except GroundupError:
                    continue
                own = HandedIn(task, made.digest, written_lines(place, every[task]))
                found |= {(task, one.digest): subject for one in theirs if own.is_like(one)}
    return found
