"""The hidden tests of a recipe by plain pytest: what strict grading has to agree with.

The tree is composed as strict grading does it, and the sandbox, the options and the plugins are the recipe's.
Pytest is started as people start it, and a plugin of a few lines tells which tests passed: nothing of groundup's
runner, and of how it decides, takes part. Where a test ends the process or hangs, all others run again without it.
"""

import asyncio
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from groundup.grading.context import GradingContext
from groundup.grading.library.execution import (
    HASH_SEED,
    REPORT_FD,
    compiled,
    test_timeout_s,
)
from groundup.grading.library.hidden import HiddenTests, LibraryUnderTest, NumberedTest
from groundup.grading.library.staging import HOME, TRUSTED, import_path, inside, stage
from groundup.sandbox.protocol import WORKSPACE, Command, CommandResult, Ending, Mount
from groundup.trees.walking import remove_tree

PLUGIN = Path(__file__).with_name("plain_report.py")
SEEN = "/opt/plain"
MOST_ENDED = 4
"""A submission with more tests that end the process has no plain result."""
Event = tuple[str, str, int]


@dataclass(frozen=True)
class Plain:
    """Which tests passed, how many ran, which ended the process and were left out, and the last run's time."""

    passed: frozenset[NumberedTest]
    began: int
    ended: tuple[str, ...]
    seconds: float
    trouble: str = ""
    """Why there is no result; empty: there is one."""


async def plain_run(library: LibraryUnderTest, context: GradingContext) -> Plain:
    """Run the hidden tests over *library*'s submission until they come to their end."""
    left_out: list[tuple[str, int]] = []
    while True:
        events, result = await _one_run(library, context, left_out)
        ended = tuple(f"{node} #{number}: {result.ending}" for node, number in left_out)
        running = _running(events)
        is_done = any(kind == "end" and status in (0, 1, 5) for kind, _, status in events)
        # Where no test began, pytest gave up before the first, as for a conftest that fails: nothing passed.
        began = sum(kind == "begin" for kind, _, _ in events)
        gave_up = result.ending is Ending.EXITED and not began
        if is_done or gave_up:
            passed = (NumberedTest.of(node, number) for kind, node, number in events if kind == "passed")
            return Plain(frozenset(passed), began, ended, result.duration_s)
        if running is None or running in left_out or len(left_out) >= MOST_ENDED:
            why = f"{result.ending} with {result.exit_code} in {running or 'no test'}"
            return Plain(frozenset(), began, ended, result.duration_s, why)
        left_out.append(running)


def _running(events: Sequence[Event]) -> tuple[str, int] | None:
    """Return the test that began last, unless it was told how it went."""
    told = [(kind, (node, number)) for kind, node, number in events if kind != "end"]
    return told[-1][1] if told and told[-1][0] == "begin" else None


async def _one_run(
    library: LibraryUnderTest, context: GradingContext, left_out: Sequence[tuple[str, int]]
) -> tuple[list[Event], CommandResult]:
    hidden, environment = library.hidden, library.environment
    scratch = Path(mkdtemp(dir=context.scratch))
    try:
        plugin = scratch / "plugin"
        plugin.mkdir()
        shutil.copy(PLUGIN, plugin)
        (plugin / "left_out.json").write_text(json.dumps(left_out))
        if hidden.extensions is not None:
            submission, _ = await compiled(library.submission, hidden.extensions, environment, context, scratch)
            library = library._replace(submission=submission)
        spec, _ = await asyncio.to_thread(stage, library, scratch, timeout_s=context.timeout_s)
        path = ":".join([SEEN, *import_path(hidden.import_roots)])
        spec = spec.but(
            mounts=(*spec.mounts, Mount(source=plugin, target=SEEN)),
            environment={**spec.environment, "PYTHONPATH": path, "PYTHONHASHSEED": HASH_SEED},
        )
        make_home = f"import os; os.makedirs({HOME!r}, exist_ok=True)"
        async with context.slots.taken(), await context.provider.open(spec) as sandbox:
            await sandbox.run(Command(argv=(environment.executable, "-Ic", make_home)))
            result = await sandbox.run(
                Command(
                    argv=(environment.executable, "-m", "pytest", *_options(hidden)),
                    cwd=inside(hidden.cwd),
                    report_fd=REPORT_FD,
                    silence_s=test_timeout_s(hidden, context),
                )
            )
    finally:
        await asyncio.to_thread(remove_tree, scratch)
    return [tuple(json.loads(line)) for line in result.report.splitlines()], result


def _options(hidden: HiddenTests) -> list[str]:
    plugins = ["plain_report", *hidden.plugins, *hidden.own_plugins]
    # Tracebacks change no result.
    return [
        *("-c", f"{TRUSTED}/pytest.ini", f"--rootdir={WORKSPACE}", f"--confcutdir={WORKSPACE}"),
        *("-p", "no:cacheprovider", "-q", "--tb=no", f"--assert={hidden.assertions}"),
        "--continue-on-collection-errors",
        *(option for name in plugins for option in ("-p", name)),
        *(option for line in hidden.late_filters for option in ("-W", line)),
        *(inside(path) for path in hidden.arguments),
    ]
