"""Inspect's own conformance checks, for groundup's sandbox: `pytest check_inspect_sandbox.py`."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from inspect_ai.util import SandboxEnvironment
from inspect_ai.util._sandbox import self_check

from groundup_bridges.inspect_tasks import GroundupSandbox

CHECKS = {name: check for name, check in vars(self_check).items() if name.startswith("test_")}
USERS = pytest.mark.xfail(reason="guests are one user", strict=True)
MARKS = {"test_exec_as_user": USERS}


@asynccontextmanager
async def a_sandbox() -> AsyncIterator[SandboxEnvironment]:
    """Open one as for a sample."""
    opened = await GroundupSandbox.sample_init("check", None, {})
    try:
        yield opened["default"]
    finally:
        await GroundupSandbox.sample_cleanup("check", None, opened, False)


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, ())) for name in CHECKS])
def test_it_conforms(name: str) -> None:
    """One check, in a sandbox of its own."""
    check: Callable[..., Any] = CHECKS[name]
    assert inspect.iscoroutinefunction(check)

    async def run() -> None:
        async with a_sandbox() as sandbox:
            await check(sandbox)

    asyncio.run(run())
