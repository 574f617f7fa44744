"""What a builder does that only some can do: the sentences of one that cannot."""

from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError, UsageError
from groundup.environments.requests import ProgramRequest, ResolvedRequest
from groundup.registries.lending import LendingRules
from tests.runs.toy_agent import EmptyBuilder


async def test_what_a_builder_need_not_do(tmp_path: Path) -> None:
    """It lends nothing, and says what to use."""
    builder = EmptyBuilder(tmp_path)
    assert builder.java is None
    async with builder.gateway(refused=("a",)) as gateway:
        assert gateway is None
    async with builder.registries(LendingRules(kinds=("pypi",))) as lent:
        assert lent.gateways == {}
    for asked, kind, says in (
        (
            builder.submission_environment(ResolvedRequest(python="3.12")),
            UsageError,
            "this environment builder installs no submissions' requirements; use the builder 'local'",
        ),
        (builder.toolchain("node"), InfrastructureError, "the environment builder lends no toolchains"),
        (
            builder.program(ProgramRequest(registry="npm", package="a", version="1")),
            UsageError,
            "this environment builder installs no programs; set builder = local",
        ),
    ):
        with pytest.raises(kind) as refused:
            await asked
        assert (type(refused.value), str(refused.value)) == (kind, says)
