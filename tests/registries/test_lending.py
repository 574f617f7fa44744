"""Tests of groundup.registries.lending: what is opened for whom, and closed when nobody needs it."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.registries.cache import FetchCache
from groundup.registries.crates.settings import CargoConfiguration
from groundup.registries.lending import (
    LendingRules,
    Opened,
    Opening,
    RegistryLending,
    crates_opening,
    maven_opening,
    pypi_opening,
)
from groundup.registries.pypi.client import PyPIRegistry
from groundup.registries.pypi.gateway import PyPIGateway
from groundup.registries.pypi.settings import ClientConfiguration, Index
from groundup.sandbox.none import NoneProvider
from groundup.sandbox.protocol import SandboxSpec

NOWHERE = ClientConfiguration(indexes=(Index(url="http://127.0.0.1:9/simple"),))


class Watched:
    """A registry that notes when it is opened and closed."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.roots: list[Path] = []
        self.rules: list[tuple[tuple[str, ...], datetime | None]] = []

    async def learn(self, environment: Mapping[str, str]) -> Opening:
        """Learn of it from a user's environment."""
        self.events.append(f"learnt of {environment['WHO']}")
        return self._open

    def _open(self, cache: FetchCache) -> Opened:
        self.events.append("opened")
        cache.root.mkdir(parents=True, exist_ok=True)
        self.roots.append(cache.root)
        registry = PyPIRegistry(NOWHERE, cache)

        def gateway(refused: tuple[str, ...], cutoff: datetime | None) -> PyPIGateway:
            self.rules.append((refused, cutoff))
            return PyPIGateway(registry, refused=refused, cutoff=cutoff)

        async def close() -> None:
            self.events.append("closed")
            await registry.close()

        return Opened(gateway=gateway, close=close)


async def test_loans_share_a_registry_that_is_closed_with_the_last(tmp_path: Path) -> None:
    """Learnt of once, open while anybody borrows, each loan with its own rules; the cache stays."""
    watched = Watched()
    lender = RegistryLending({"WHO": "me"}, tmp_path / "cache", ways={"pypi": watched.learn})
    async with lender.lend(
        LendingRules(kinds=("pypi",), refused={"pypi": ("a",)}, exclude_newer="2021-01-01")
    ) as first:
        async with lender.lend(LendingRules(kinds=("pypi", "pypi"))) as second:
            assert first.gateways["pypi"] is not second.gateways["pypi"]
        assert watched.events == ["learnt of me", "opened"]
    assert watched.events == ["learnt of me", "opened", "closed"]
    async with lender.lend(LendingRules(kinds=("pypi",))):
        pass
    assert watched.events[3:] == ["opened", "closed"]
    assert [refused for refused, _ in watched.rules] == [("a",), (), ()]
    assert watched.rules[0][1] is not None
    assert watched.roots[0].is_dir()


async def test_without_a_cache_nothing_stays() -> None:
    """What was fetched for a loan is gone with the last one."""
    watched = Watched()
    lender = RegistryLending({"WHO": "me"}, None, ways={"pypi": watched.learn})
    async with lender.lend(LendingRules(kinds=("pypi",))), lender.lend(LendingRules(kinds=("pypi",))):
        assert watched.roots[0].is_dir()
    assert not watched.roots[0].exists()


async def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    """Refusals at a Maven repository, and files for a sandbox without a home, are errors and not left out."""
    crates = CargoConfiguration(index="http://127.0.0.1:9", client=NOWHERE)
    known: dict[str, Opening] = {"maven": maven_opening(NOWHERE), "crates": crates_opening(crates)}
    lender = RegistryLending(
        {}, tmp_path / "cache", {"maven": known["maven"], "crates": known["crates"], "pypi": pypi_opening(NOWHERE)}
    )
    with pytest.raises(UsageError, match="without refusals"):
        async with lender.lend(LendingRules(kinds=("maven",), refused={"maven": ("a:b",)})):
            pass
    (tmp_path / "work").mkdir()
    async with (
        NoneProvider() as provider,
        await provider.open(SandboxSpec(workspace=tmp_path / "work")) as sandbox,
    ):
        async with lender.lend(LendingRules(kinds=("pypi",))) as lent:
            assert (await lent.attach(sandbox))["UV_DEFAULT_INDEX"].startswith("http://127.0.0.1:")
        async with lender.lend(LendingRules(kinds=("crates",))) as lent:
            with pytest.raises(UsageError, match="a home of their own"):
                await lent.attach(sandbox)
