"""Recipes that are written: nobody else's file is replaced."""

from pathlib import Path

import pytest

from groundup.cli.recipe_files import free_for_us, is_same, named_recipe, written
from groundup.domain.errors import UsageError
from groundup.suites.nl2repobench.recipe import shipped_recipes


def test_only_our_own_file_is_replaced(tmp_path: Path) -> None:
    """Until somebody edits it, unless that is the draft to go on with; its folder is made."""
    target = tmp_path / "folder" / "recipe.toml"
    assert free_for_us(target) == target
    for text in ("one\n", "two\n"):
        written(target, text)
        assert target.read_text() == text
    target.write_text("edited\n")
    for refused in (lambda: free_for_us(target), lambda: written(target, "three\n")):
        with pytest.raises(UsageError):
            refused()
    assert target.read_text() == "edited\n"
    other = tmp_path / "other.toml"
    other.write_text("")
    with pytest.raises(UsageError):
        written(target, "three\n", other)
    written(target, "three\n", tmp_path / "folder" / ".." / "folder" / "recipe.toml")
    assert target.read_text() == "three\n"


def test_a_draft_is_the_same_file_by_any_path(tmp_path: Path) -> None:
    """No draft is none."""
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert is_same(tmp_path / "a", tmp_path / "link")
    assert not is_same(tmp_path / "a", tmp_path / "b")
    assert not is_same(tmp_path / "a", None)


def test_a_recipe_is_shipped_or_a_file(tmp_path: Path) -> None:
    """An unknown one is answered with the nearest."""
    assert named_recipe("six") == shipped_recipes()["six"]
    with pytest.raises(UsageError, match="unknown recipe 'sxi'; did you mean 'six'"):
        named_recipe("sxi")
    with pytest.raises(UsageError, match=r"none\.toml"):
        named_recipe(str(tmp_path / "none.toml"))
