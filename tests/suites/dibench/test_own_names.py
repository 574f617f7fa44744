"""What a repository offers to its own members."""

import pytest

from groundup.suites.dibench.registry_check import crate_name, offered_names


@pytest.mark.parametrize(
    ("path", "data", "names"),
    [
        ("a/package.json", b'{"name": "@x/a"}', ["@x/a"]),
        ("Cargo.toml", b'[package]\nname = "a"\n[workspace.dependencies]\nserde = "1"\n', ["a", "serde"]),
        ("pyproject.toml", b'[project]\nname = "a"\n', ["a"]),
        ("pyproject.toml", b'[tool.poetry]\nname = "a"\n', ["a"]),
        ("pnpm-workspace.yaml", b"packages:\n  - a\ncatalog:\n  entities: ^4\n", ["entities"]),
        ("package.json", b"{", []),
        ("Cargo.toml", b"\xff", []),
        ("setup.py", b"", []),
    ],
)
def test_names(path: str, data: bytes, names: list[str]) -> None:
    """Packages by their manifests, inherited dependencies, catalogs; nothing from what cannot be read."""
    assert list(offered_names(path, data)) == names


def test_a_crates_own_name() -> None:
    """A workspace's root may have none."""
    assert crate_name(b'[package]\nname = "a"\n') == "a"
    assert crate_name(b"[workspace]\n") is None
    assert crate_name(b"[") is None
