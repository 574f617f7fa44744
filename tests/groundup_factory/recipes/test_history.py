"""Histories of Git repositories."""

from pathlib import Path

from groundup_factory.recipes.history import GitHistory


async def test_a_history_is_read(upstream: Path, tmp_path: Path) -> None:
    """Commits come newest first with their dates, and their files are known without exporting them."""
    repository = GitHistory(tmp_path / "history")
    await repository.create()
    await repository.fetch_all(str(upstream))
    newest, oldest = await repository.commits()

    assert await repository.resolve("main") == newest.id
    assert await repository.resolve("nothing") is None
    assert await repository.files(newest.id) - await repository.files(oldest.id) == {"later.py"}
    assert newest.date >= oldest.date
