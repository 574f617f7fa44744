"""Imports of one Python file."""

import pytest

from groundup_infer.python_imports import python_imports
from groundup_infer.records import Manner


def _manners(source: str, module: str) -> set[Manner]:
    (found,) = [item for item in python_imports(source.encode()) if item.module == module]
    return set(found.manners)


def test_every_form_of_import_is_found_with_its_line_and_level() -> None:
    """Aliases, lists, stars, relative imports and literal dynamic imports are all imports."""
    source = (
        "import a.b as c, d\nfrom . import e, f as g\nfrom ..h.i import (\n    j,\n    k,\n)\nfrom l import *\n"
        "import importlib\nimportlib.import_module('m.n')\n__import__('o')\nfrom __future__ import annotations\n"
    )
    found = [(item.module, item.level, item.names, item.line) for item in python_imports(source.encode())]
    assert found == [
        ("a.b", 0, (), 1),
        ("d", 0, (), 1),
        ("", 1, ("e", "f"), 2),
        ("h.i", 2, ("j", "k"), 3),
        ("l", 0, ("*",), 7),
        ("importlib", 0, (), 8),
        ("m.n", 0, (), 9),
        ("o", 0, (), 10),
    ]


@pytest.mark.parametrize(
    ("source", "manners"),
    [
        ("import x", set()),
        ("class A:\n    import x", set()),
        ("def f():\n    import x", {Manner.LAZY}),
        ("async def f():\n    from x import y", {Manner.LAZY}),
        ("if __name__ == '__main__':\n    import x", {Manner.LAZY}),
        ("try:\n    import x\nexcept ImportError:\n    x = None", {Manner.GUARDED}),
        ("try:\n    import x\nexcept (KeyError, ModuleNotFoundError):\n    pass", {Manner.GUARDED}),
        ("try:\n    import x\nexcept:\n    pass", {Manner.GUARDED}),
        ("try:\n    import x\nexcept KeyError:\n    pass", set()),
        ("try:\n    pass\nfinally:\n    import x", set()),
        (
            "try:\n    import x\nexcept ImportError as e:\n    raise RuntimeError('install x') from e",
            {Manner.DEMANDED},
        ),
        ("try:\n    import u\nexcept ImportError:\n    import x", {Manner.FALLBACK}),
        ("with contextlib.suppress(ImportError):\n    import x", {Manner.GUARDED}),
        ("if TYPE_CHECKING:\n    import x", {Manner.TYPING}),
        ("if typing.TYPE_CHECKING:\n    pass\nelse:\n    import x", set()),
        ("if not TYPE_CHECKING:\n    import x", set()),
        ("if sys.version_info < (3, 11):\n    import x", {Manner.VERSION}),
        ("if sys.platform == 'win32':\n    import x", {Manner.PLATFORM}),
        ("if DEBUG:\n    import x", {Manner.CONDITIONAL}),
        (
            "def f():\n    try:\n        import x\n    except ImportError:\n        pass",
            {Manner.LAZY, Manner.GUARDED},
        ),
        ("importlib.import_module('x')", {Manner.DYNAMIC}),
        ("pytest.importorskip('x')", {Manner.DYNAMIC, Manner.GUARDED}),
    ],
)
def test_the_manner_is_what_stands_around_the_import(source: str, manners: set[Manner]) -> None:
    """Whether an import happens on load, later, or only perhaps is read from the code around it."""
    assert _manners(source, "x") == manners


@pytest.mark.parametrize(
    ("source", "marker"),
    [
        ("if sys.version_info >= (3, 11):\n    import a\nelse:\n    import x", 'python_version < "3.11"'),
        ("if sys.version_info < (3, 8):\n    import x", 'python_version < "3.8"'),
        (
            "if TYPE_CHECKING:\n    import t\nelif sys.version_info >= (3, 9):\n    import x",
            'python_version >= "3.9"',
        ),
        ("if sys.platform == 'win32':\n    import x", 'sys_platform == "win32"'),
        ("if sys.version_info >= (3, 11) and FAST:\n    import x", ""),
    ],
)
def test_a_test_of_the_interpreter_becomes_a_marker(source: str, marker: str) -> None:
    """The environment marker says the same as the code's own test, and nothing is made up."""
    (found,) = [item for item in python_imports(source.encode()) if item.module == "x"]
    assert found.marker == marker


def test_names_that_are_computed_are_not_guessed() -> None:
    """A format string or a variable is no literal module name."""
    assert python_imports(b"import_module(f'x.{y}')\nimport_module(name)\n__import__('not a name')") == []


def test_python_2_and_broken_files_still_tell_their_imports() -> None:
    """What surrounds an import may be of another age, or cut off."""
    found = python_imports(b"import x\nprint 'hello'\nexec code in d\nfrom y import z\ndef broken(:\n")
    assert [item.module for item in found] == ["x", "y"]


def test_a_string_that_speaks_of_imports_is_not_one() -> None:
    """Text in docstrings does not count, also where the file's last mention of an import stands in one."""
    source = b'"""Use it so:\n\nimport fake\n"""\nimport real\nTEXT = """\nimport other\nmore\n"""\nvalue = 1\n'
    assert [item.module for item in python_imports(source)] == ["real"]
