"""Tests of groundup.registries.lending: what is opened for whom, and closed when no one needs it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.registries.crates import CratesSettings
from groundup.registries.lending import LendingRules, RegistryLending
from groundup.registries.settings import Index, RegistrySettings
from groundup.sandbox.protocol import SandboxSpec
from tests.sandbox.fake import FakeProvider, FakeSandbox

NOWHERE = RegistrySettings(indexes=(Index(url="http://127.0.0.1:9/simple"),))


class Homeless(FakeSandbox):
    """A sandbox that writes nothing outside of its workspace."""

    async def write_file(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Refuse it."""
        raise PermissionError(path)


class User:
    """A user whose settings are asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def learn(self, environment: Mapping[str, str]) -> RegistrySettings:
        """Return the settings, and note that they were asked for."""
        self.asked.append(environment["WHO"])
        return NOWHERE


async def test_loans_share_a_client_that_is_closed_with_the_last(tmp_path: Path) -> None:
    """Learnt of once, open while anybody borrows, each loan with its own rules; the cache stays."""
    user = User()
    lender = RegistryLending({"WHO": "me"}, tmp_path / "cache", ways={"pypi": user.learn})
    rules = LendingRules(kinds=("pypi",), refused={"pypi": ("a",)}, exclude_newer="2021-01-01")
    async with lender.lend(rules) as first, lender.client("pypi") as used:
        async with lender.lend(LendingRules(kinds=("pypi", "pypi"))) as second:
            assert first.gateways["pypi"] is not second.gateways["pypi"]
            assert [lent.gateways["pypi"].refused for lent in (first, second)] == [{"a"}, frozenset()]
        async with lender.client("pypi") as again:
            assert again is used
    async with lender.lend(LendingRules(kinds=("pypi",))), lender.client("pypi") as later:
        assert later is not used
    assert user.asked == ["me"]
    used.cache.keep_record("kind", "key", NOWHERE)
    assert (tmp_path / "cache").is_dir()
    assert later.cache.record("kind", "key", RegistrySettings) == NOWHERE


async def test_without_a_cache_nothing_stays() -> None:
    """What was fetched for a loan is gone with the last one."""
    lender = RegistryLending({}, None, known={"pypi": NOWHERE})
    async with lender.lend(LendingRules(kinds=("pypi",))), lender.client("pypi") as client:
        root = client.cache.root
        async with lender.lend(LendingRules(kinds=("pypi",))):
            pass
        assert root.is_dir()
    assert not root.exists()


async def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    """Refusals at a Maven repository, and files for a sandbox without a home, are errors and not left out."""
    crates = CratesSettings(indexes=NOWHERE.indexes)
    lender = RegistryLending({}, tmp_path / "cache", {"maven": NOWHERE, "crates": crates, "pypi": NOWHERE})
    with pytest.raises(UsageError, match="without refusals"):
        async with lender.lend(LendingRules(kinds=("maven",), refused={"maven": ("a:b",)})):
            pass
    (tmp_path / "work").mkdir()
    async with Homeless(FakeProvider(), SandboxSpec(workspace=tmp_path / "work"), {}) as sandbox:
        async with lender.lend(LendingRules(kinds=("pypi",))) as lent:
            assert (await lent.attach(sandbox))["UV_DEFAULT_INDEX"].startswith("http://127.0.0.1:")
        async with lender.lend(LendingRules(kinds=("crates",))) as lent:
            with pytest.raises(UsageError, match="a home of their own"):
                await lent.attach(sandbox)
