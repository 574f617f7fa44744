"""`store.verdict_cache`: finds what it kept, and never costs more than time."""

import os
from pathlib import Path

import pytest

from groundup.domain.verdicts import Graded, Status, TestResult
from groundup.store.verdict_cache import VerdictCache
from tests.store.test_lines import verdict

KEY = {"submission": "sha256:1", "repetition": 0}
TESTS = (TestResult(id="t", outcome="passed", expected=True),)


def test_a_verdict_is_found_by_its_whole_key(tmp_path: Path) -> None:
    """The same key finds verdict and tests; any other key finds nothing."""
    warnings: list[str] = []
    cache = VerdictCache(tmp_path, warnings.append)
    cache.keep(KEY, Graded(verdict=verdict(), tests=TESTS))
    found = cache.find(dict(reversed(KEY.items())))
    assert found is not None
    assert (found.verdict, found.tests) == (verdict(), TESTS)
    assert cache.find({**KEY, "repetition": 1}) is None
    assert warnings == []


@pytest.mark.parametrize("fields", [{"cacheable": False}, {"status": Status.INFRASTRUCTURE, "score": None}])
def test_what_may_be_chance_is_never_kept(tmp_path: Path, fields: dict[str, object]) -> None:
    """Timeouts and infrastructure failures are judged anew each time."""
    cache = VerdictCache(tmp_path, pytest.fail)
    cache.keep(KEY, Graded(verdict=verdict(**fields), tests=TESTS))
    assert cache.find(KEY) is None


def test_a_damaged_entry_is_not_believed(tmp_path: Path) -> None:
    """Half an entry, and one of another key, count as absent, with one warning; keeping mends it."""
    warnings: list[str] = []
    cache = VerdictCache(tmp_path, warnings.append)
    cache.keep(KEY, Graded(verdict=verdict(), tests=TESTS))
    (entry,) = (path for path in tmp_path.rglob("*") if path.is_file())
    whole = entry.read_text()
    for damaged in (whole[:50], whole.replace("sha256:", "sha256:0"), ""):
        entry.write_text(damaged)
        assert cache.find(KEY) is None
    assert len(warnings) == 1
    assert str(entry) in warnings[0]
    cache.keep(KEY, Graded(verdict=verdict(), tests=TESTS))
    assert cache.find(KEY) is not None


def test_a_cache_that_cannot_be_written_warns_once(tmp_path: Path) -> None:
    """A cache folder that cannot be made costs a warning and no run."""
    (tmp_path / "file").touch()  # stands for a read-only place, which does not stop root
    warnings: list[str] = []
    cache = VerdictCache(tmp_path / "file" / "cache", warnings.append)
    cache.keep(KEY, Graded(verdict=verdict(), tests=TESTS))
    cache.keep(KEY, Graded(verdict=verdict(), tests=TESTS))
    assert len(warnings) == 1
    assert "not cached" in warnings[0]


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_read_only_cache_warns(tmp_path: Path) -> None:
    """A cache without write permission is used for reading and warns."""
    tmp_path.chmod(0o555)
    warnings: list[str] = []
    VerdictCache(tmp_path, warnings.append).keep(KEY, Graded(verdict=verdict(), tests=TESTS))
    tmp_path.chmod(0o755)
    assert len(warnings) == 1
