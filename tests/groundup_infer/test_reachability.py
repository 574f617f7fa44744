"""Which modules run when a package is imported."""

from groundup_infer.python_imports import Reach, local_targets, python_imports, walk
from groundup_infer.python_layout import lay_out
from tests.groundup_infer.trees import tree_of


def _reach(files: dict[str, str]) -> dict[str, Reach]:
    tree = tree_of(files)
    layout = lay_out(tree)
    return dict(walk(layout, {source.path: python_imports(source.data) for source in tree.sources}).reach)


def test_eager_edges_lead_on_and_lazy_ones_do_not() -> None:
    """Reach weakens along the first import that does not happen on load, and never grows again."""
    found = _reach(
        {
            "pyproject.toml": "[project]\nname = 'p'\n[project.scripts]\np = 'p.cli:main'\n",
            "p/__init__.py": "from . import a\ndef f():\n    from p import late\n",
            "p/a.py": "from .sub.b import thing\n",
            "p/sub/__init__.py": "",
            "p/sub/b.py": "",
            "p/late.py": "import p.later\n",
            "p/later.py": "",
            "p/cli.py": "",
            "p/alone.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p import a\n",
        }
    )
    assert found == {
        "p": Reach.ROOT,
        "p.a": Reach.ROOT,
        "p.sub": Reach.ROOT,
        "p.sub.b": Reach.ROOT,
        "p.cli": Reach.ENTRY,
        "p.late": Reach.LATER,
        "p.later": Reach.LATER,
        "p.alone": Reach.NEVER,
    }


def test_circles_end() -> None:
    """Modules that import each other are each reached once."""
    files = {"p/__init__.py": "from p import a\n", "p/a.py": "from p import b\n", "p/b.py": "from p import a\n"}
    assert set(_reach(files).values()) == {Reach.ROOT}


def test_stubs_of_lazy_packages_count() -> None:
    """A package that loads by its stub offers what the stub imports."""
    found = _reach(
        {
            "p/__init__.py": "import lazy_loader\nlazy_loader.attach_stub(__name__, __file__)\n",
            "p/__init__.pyi": "from .core import x\n",
            "p/core.py": "",
        }
    )
    assert found["p.core"] is Reach.ROOT


def test_relative_imports_above_the_top_are_nothing() -> None:
    """A module cannot import from outside its own root."""
    (item,) = python_imports(b"from ....x import y")
    assert local_targets(item, "p.a", is_package=False, modules={"p": "p/__init__.py"}) == []
