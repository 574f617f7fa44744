"""Tests of groundup.inside.reached."""

import sys
from pathlib import Path

import pytest

from groundup.inside.reached import compile_reached
from tests.grading.library.laboratory import write_tree

SOURCES = {
    "named/__init__.py": "ENGINE = 'named.far.engine:Main'\ndef later():\n    from other.part import thing\n",
    "named/child.py": "from .helper.deep import x\n",
    "named/far/__init__.py": "",
    "named/far/engine.py": "import single\n",
    "named/far/idle.py": "",
    "named/helper/__init__.py": "",
    "named/helper/deep.py": "this is no Python",
    "other/__init__.py": "",
    "other/part/__init__.py": "from other.part import inner\n",
    "other/part/inner.py": "",
    "other/idle.py": "",
    "single.py": "raise SystemExit('imported')\n",
    "idle.py": "",
    "pytest/__init__.py": "",
    "_pytest/__init__.py": "",
    "_pytest/mark.py": "",
    "plugin/__init__.py": "",
    "plugin/hooks.py": "",
    "plugin-1.dist-info/entry_points.txt": "[pytest11]\nplugin = plugin.hooks\n[other]\nidle = idle\n",
    "broken-1.dist-info/entry_points.txt": "no section\n",
    "pip/__init__.py": "import idle\n",
}


def test_what_names_and_pytest_lead_to_is_compiled_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imports in functions, modules named in strings, a named package's own modules; nothing is executed."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    write_tree(tmp_path, SOURCES)
    compile_reached(str(tmp_path), ["named", "pip", "if", "named.absent", "..", ""])
    compiled = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.pyc")}
    sources = {place.replace("__pycache__/", "").partition(".")[0] for place in compiled}
    assert sources == {
        "named/__init__", "named/child", "named/far/__init__", "named/far/engine", "named/helper/__init__",
        "other/__init__", "other/part/__init__", "other/part/inner", "single", "pytest/__init__",
        "_pytest/__init__", "_pytest/mark", "plugin/__init__", "plugin/hooks",
    }  # fmt: skip
