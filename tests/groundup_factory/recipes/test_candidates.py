"""Tests of groundup_factory.recipes.candidates."""

from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from groundup.domain.errors import TaskError, UsageError
from groundup.environments.requests import GitSource
from groundup.registries.pypi.client import PyPIClient
from groundup.registries.pypi.pages import ProjectFile
from groundup.sandbox.programs import run_program
from groundup.settings import Settings, environment
from groundup_factory.recipes.candidates import of_commits, parse_source, releases, tree_match

UNTIL = datetime(2025, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("sdist:demo", ("sdist", "demo", None)),
        ("sdist:demo==1.0", ("sdist", "demo", "1.0")),
        ("git:example.org/a/b", ("git", "example.org/a/b", None)),
        ("git:https://example.org/a/b@v1.0", ("git", "example.org/a/b", "v1.0")),
        ("git:git@example.org:a/b", ("git", "git@example.org:a/b", None)),
    ],
)
def test_sources_are_named(text: str, source: tuple[str, str, str | None]) -> None:
    """A distribution or a repository, with or without a version."""
    assert parse_source(text) == source


@pytest.mark.parametrize("text", ["", "demo", "sdist:", "wheel:demo"])
def test_what_is_no_source_is_explained(text: str) -> None:
    """A typo is reported with what would be right."""
    with pytest.raises(UsageError, match="git:REPOSITORY"):
        parse_source(text)


async def test_a_page_is_read_once_for_all_steps() -> None:
    """A release names the interpreters that a wheel of it is for; asking again costs nothing."""
    tags = (
        "1.0-cp310-cp310-manylinux_2_17_x86_64",
        "1.0-cp37-abi3-win_amd64",
        "2.0-cp38-abi3-manylinux_2_17_x86_64",
    )
    files = [ProjectFile(filename=f"demo-{tag}.whl", url="", requires_python="<3.12") for tag in tags]
    registry = AsyncMock(PyPIClient)
    registry.page.return_value.page.files = files

    found = await releases(registry, "demo")

    assert {version: sorted(one.pythons) for version, one in found.items()} == {
        "1.0": ["3.10"],
        "2.0": ["3.10", "3.11", "3.8", "3.9"],
    }
    assert await releases(registry, "demo") is found
    registry.page.assert_awaited_once_with("demo")


async def test_a_release_is_told_by_its_files() -> None:
    """Versions in their order, the first upload of each, its tarball rather than another source, and its wheel."""

    def file(
        name: str, uploaded: str | None = None, python: str | None = None, *, yanked: bool = False
    ) -> ProjectFile:
        return ProjectFile(filename=name, url="", upload_time=uploaded, requires_python=python, yanked=yanked)

    registry = AsyncMock(PyPIClient)
    registry.page.return_value.page.files = [
        file("demo-1.10.tar.gz", "2024-03-01T00:00:00Z", yanked=True),
        file("demo-1.9.zip", "2024-02-03T00:00:00"),
        file("demo-1.9.tar.gz", "2024-02-02T00:00:00Z"),
        file("demo-1.9-py3-none-any.whl", "soon", ">=3.12"),
        file("demo-1.8-py2-none-any.whl"),
        file("demo-1.8-cp39-cp39-win_amd64.whl"),
        file("demo-1.8-cp311-cp311-linux_x86_64.whl", None, "nonsense"),
        file("demo-none.tar.gz"),
    ]
    found = await releases(registry, "demo")

    assert list(found) == ["1.8", "1.9", "1.10"]
    names = {version: [one and one.filename for one in (at.source, at.wheel)] for version, at in found.items()}
    assert names == {
        "1.8": [None, "demo-1.8-py2-none-any.whl"],
        "1.9": ["demo-1.9.tar.gz", "demo-1.9-py3-none-any.whl"],
        "1.10": ["demo-1.10.tar.gz", None],
    }
    assert [at.uploaded for at in found.values()] == [
        *(None, datetime(2024, 2, 2, tzinfo=UTC), datetime(2024, 3, 1, tzinfo=UTC)),
    ]
    assert [at.is_yanked for at in found.values()] == [False, False, True]
    assert [sorted(at.pythons) for at in found.values()] == [[], ["3.12", "3.13"], []]


def test_a_tree_that_fits_matches_best() -> None:
    """Missing and additional code lowers the match; tests, which specifications leave out, do not count."""
    ended = frozenset({"demo", "demo/a.py", "demo/b.py", "README.md"})

    assert tree_match(ended, {"demo/a.py", "demo/b.py", "README.md", "tests/test_a.py"}) == 1.0
    assert tree_match(ended, {"demo/a.py", "README.md"}) < 1.0
    assert tree_match(ended, {"demo/a.py", "demo/b.py", "README.md", "demo/c.py"}) < 1.0


async def _commit(folder: Path, date: str, name: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"# {name}\n")
    who = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    for arguments in (
        ("add", "."),
        ("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", name),
    ):
        done = await run_program(
            ["git", *arguments], cwd=folder, environment={**environment(), **who}, timeout_s=60
        )
        assert done.ok, done.text()


@pytest.mark.needs("git")
async def test_commits_are_ranked_by_tree_and_date(tmp_path: Path) -> None:
    """The commit that has the specified files, nearest before the day of the pins, comes first."""
    folder = tmp_path / "demo"
    folder.mkdir()
    await run_program(["git", "init", "--quiet", "."], cwd=folder, environment=environment(), timeout_s=60)
    await _commit(folder, "2024-01-01T00:00:00Z", "tests/test_a.py")
    await _commit(folder, "2024-06-01T00:00:00Z", "demo/a.py")
    await _commit(folder, "2025-05-01T00:00:00Z", "tests/test_b.py")
    await _commit(folder, "2025-05-20T00:00:00Z", "demo/z.py")
    await _commit(folder, "2026-05-20T00:00:00Z", "later.py")
    settings = Settings(cache_dir=tmp_path / "cache")
    found = await of_commits(str(folder), None, frozenset({"demo", "demo/a.py"}), UNTIL, settings)

    assert [candidate.date[:10] for candidate in found][:2] == ["2025-05-01", "2024-06-01"]
    assert "2026-05-20" not in {candidate.date[:10] for candidate in found}
    assert isinstance(found[0].request, GitSource)
    named = await of_commits(str(folder), found[0].request.commit[:12], frozenset(), UNTIL, settings)
    assert named[0].request == found[0].request
    with pytest.raises(TaskError, match="has no commit"):
        await of_commits(str(folder), "0123456789", frozenset(), UNTIL, settings)
