"""`store.verdict_cache`: finds what it kept, and never costs more than time."""

import json
import os
import re
from pathlib import Path

import pytest

from groundup.domain.digests import digest_of
from groundup.domain.verdicts import Graded, Status, TestResult
from groundup.store.verdict_cache import VerdictCache, code_digest, modules_behind
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


def test_each_trouble_is_told_once_to_the_letter(tmp_path: Path) -> None:
    """What is damaged, what belongs to something else, what is no folder: none is a verdict."""
    told: list[str] = []
    cache = VerdictCache(tmp_path, told.append)
    cache.keep(KEY, Graded(verdict=verdict(), tests=TESTS))
    (entry,) = (path for path in tmp_path.rglob("*") if path.is_file())
    name = digest_of(KEY).removeprefix("sha256:")
    assert entry == tmp_path / name[:2] / f"{name}.json"
    document = json.loads(entry.read_text())
    assert sorted(document) == ["key_digest", "tests", "verdict"]
    damaged = f"the cached verdict {entry} cannot be read and is not used; remove it"
    foreign = f"the cached verdict {entry} belongs to something else and is not used; remove it"
    for content, says in (
        ("[]", damaged),
        ("3", damaged),
        ('{"key_digest": "a"}', damaged),
        (json.dumps({**document, "verdict": {}}), damaged),
        (json.dumps({**document, "tests": 1}), damaged),
        (json.dumps({name: one for name, one in document.items() if name != "key_digest"}), damaged),
        (json.dumps({**document, "key_digest": "sha256:0"}), foreign),
    ):
        entry.write_text(content)
        anew: list[str] = []
        assert VerdictCache(tmp_path, anew.append).find(KEY) is None
        assert anew == [says]
        assert cache.find(KEY) is None
    assert told == [damaged]
    entry.write_text(json.dumps({**document, "added later": 1}))
    assert cache.find(KEY) == Graded(verdict=verdict(), tests=TESTS)
    entry.unlink()
    entry.mkdir()
    assert VerdictCache(tmp_path, anew.append).find(KEY) is None
    assert anew == [foreign, damaged]


def test_what_a_module_is_decided_by_is_found_by_its_imports() -> None:
    """Late ones and those below, each once; no top-level package is entered, nor what is not ours."""
    found = modules_behind("groundup.domain.names")
    assert found == {
        "groundup.domain.names",
        "groundup.domain.digests",
        "groundup.domain.errors",
        "groundup.domain",
    }
    assert modules_behind("groundup.no_such_module") == frozenset()
    assert modules_behind("no_such_package.module") == frozenset()
    digests = {code_digest(), code_digest("groundup.domain.names"), code_digest("groundup.store.oracles")}
    assert len(digests) == 3
    assert code_digest("groundup.domain.names") == code_digest("groundup.domain.names", "groundup.domain.digests")
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", digest) for digest in digests)
