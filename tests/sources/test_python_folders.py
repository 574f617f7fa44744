"""Where project files say that packages lie, as each tool writes it."""

import pytest

from groundup.sources.python_folders import python_project_files, read_folders, texts


@pytest.mark.parametrize(
    ("name", "content", "folders", "packages"),
    [
        ("pyproject.toml", "[tool.setuptools.packages.find]\nwhere = ['src', 3]\n", "src", {}),
        (
            "pyproject.toml",
            "[tool.setuptools.package-dir]\n'' = 'lib'\na = './x/a'\nb = 'y/c'\nd = 4\n",
            "lib x",
            {"a": "x/a", "b": "y/c"},
        ),
        (
            "pyproject.toml",
            "[tool.poetry]\npackages = [{include = 'a', from = 'src'}, {include = 'b'}, 'c']\n",
            "src",
            {},
        ),
        ("pyproject.toml", "[tool.poetry]\npackages = 'a'\n", "", {}),
        (
            "pyproject.toml",
            "[tool.hatch.build]\npackages = ['p/a']\nsources = ['s']\n[tool.hatch.build.targets.wheel]\n"
            "packages = ['q/b']\nsources = {'src/x' = 'y'}\nforce-include = {'./other/' = 'z', 'k' = 'no name'}\n",
            "p s q src",
            {"y": "src/x", "z": "other"},
        ),
        (
            "pyproject.toml",
            "[tool.pdm]\npackage-dir = 'p1'\n[tool.pdm.build]\npackage-dir = 'p2'\n[tool.uv.build-backend]\n"
            "module-root = 'u'\n[tool.maturin]\npython-source = 'm'\n"
            "[tool.scikit-build.wheel]\npackages = ['py/k']\n",
            "py p1 p2 u m",
            {},
        ),
        ("setup.cfg", "[options]\npackage_dir =\n    = src\n    a = lib/a\n    b = other\n", "src lib", None),
        ("setup.cfg", "[options]\npackage_dir = =src\n[options.packages.find]\nwhere = src\n", "src", {}),
        ("setup.py", "setup(packages=find_packages(where='src'))", "src", {}),
        ("setup.py", "setup(packages=find_packages('one'))", "one", {}),
        ("setup.py", "setup(package_dir={'': 'lib', 'a': './x/a/', 'b': 'b'})", "lib", {"a": "x/a", "b": "b"}),
        ("pyproject.toml", "[", "", {}),
        ("setup.cfg", "[", "", {}),
        ("sub/setup.cfg", "[options.packages.find]\nwhere = src\n", "", {}),
    ],
)
def test_folders_are_read_as_each_tool_writes_them(
    name: str, content: str, folders: str, packages: dict[str, str] | None
) -> None:
    """Folders of sources, and packages that lie under another name; nothing of what cannot be read."""
    found = read_folders(python_project_files({name: content.encode()}))
    assert " ".join(found.source_folders) == folders
    assert found.package_folders == ({"a": "lib/a", "b": "other"} if packages is None else packages)


def test_the_first_word_on_a_package_counts() -> None:
    """Each folder once."""
    files = {
        "pyproject.toml": b"[tool.setuptools.package-dir]\na = 'one/a'\n",
        "setup.cfg": b"[options]\npackage_dir =\n  a = two/a\n",
        "setup.py": b"setup(packages=find_packages('one'))",
    }
    assert read_folders(python_project_files(files)) == (("one", "two"), {"a": "one/a"})


def test_only_texts_are_texts() -> None:
    """Of a list, and of nothing else."""
    assert texts(["a", 1, None, "b"]) == ["a", "b"]
    assert texts("ab") == texts(None) == texts({"a": 1}) == []
