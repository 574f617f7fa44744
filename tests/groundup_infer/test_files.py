"""What is read: folders, single files, notebooks, diffs, odd encodings."""

import json
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.sources.files import as_utf8, from_diff, notebook_source, read_tree
from groundup_infer.inference import infer
from groundup_infer.records import InferredKind


def test_other_encodings_are_read(tmp_path: Path) -> None:
    """A file that is not UTF-8 does not lose its imports."""
    (tmp_path / "a.py").write_bytes("# -*- coding: latin-1 -*-\nname = 'Grüße'\nimport yaml\n".encode("latin-1"))
    (tmp_path / "b.py").write_bytes("import requests\n".encode("utf-16"))
    (tmp_path / "c.py").write_bytes(b"\xef\xbb\xbfimport click\n")
    (found,) = infer(tmp_path)
    assert {item.name for item in found.dependencies} == {"pyyaml", "requests", "click"}
    assert as_utf8(b"\xff") == "ÿ".encode()


def test_other_peoples_code_is_left_out(tmp_path: Path) -> None:
    """Environments and installed packages inside the repository are not its source."""
    for folder in (".venv/lib", "node_modules/x", "__pycache__", ".git"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.py").write_text("import numpy")
    (tmp_path / "own.py").write_text("import click")
    assert [source.path for source in read_tree(tmp_path).sources] == ["own.py"]


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A link to a file elsewhere is not read."""
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside.py").write_text("import numpy")
    (tmp_path / "inside" / "link.py").symlink_to(tmp_path / "outside.py")
    assert read_tree(tmp_path / "inside").sources == ()


def test_a_notebook_is_its_code_cells_without_magics(tmp_path: Path) -> None:
    """Magics, shell lines, cells of other languages and prose are no Python; timing magics are transparent."""
    cells = [
        {"cell_type": "markdown", "source": ["import nothing"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "!pip install x\n", "import pandas as pd\n"]},
        {"cell_type": "code", "source": "%%bash\nimport other"},
        {"cell_type": "code", "source": "%%time\nimport sklearn.svm"},
    ]
    path = tmp_path / "analysis.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    (found,) = infer(path)
    assert {item.name for item in found.of_kind(InferredKind.RUNTIME)} == {"pandas", "scikit-learn"}


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"cells": 3}', b'{"cells": [1, {"cell_type": "code"}]}'])
def test_a_broken_notebook_is_empty(data: bytes) -> None:
    """Nothing that claims to be a notebook can break the reading."""
    assert notebook_source(data) == b""


DIFF = b"""diff --git a/pkg/a.py b/pkg/a.py
--- a/pkg/a.py
+++ b/pkg/a.py
@@ -1,3 +1,4 @@
 import old
-import gone
+import requests
+import yaml

diff --git a/gone.py b/gone.py
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-import numpy
"""


def test_only_added_lines_of_a_diff_count(tmp_path: Path) -> None:
    """What a change brings in is asked for, not what was there or goes; lines are those of the new file."""
    path = tmp_path / "change.patch"
    path.write_bytes(DIFF)
    (found,) = infer(path)
    assert {item.name: item.evidence[0].line for item in found.dependencies} == {"requests": 2, "pyyaml": 3}
    assert [source.path for source in from_diff(DIFF)] == ["pkg/a.py"]
    assert not list(from_diff(b"--- a/x.py\n+++ b/x.py\n@@ -1 +" + b"1" * 5000 + b" @@\n+import os\n"))


def test_one_file_needs_no_repository(tmp_path: Path) -> None:
    """In a single file, what is imported at once is required and the rest is optional."""
    path = tmp_path / "script.py"
    path.write_text(
        "import requests\ndef f():\n    import numpy\ntry:\n    import ujson\nexcept ImportError:\n    pass\n"
    )
    (found,) = infer(path)
    assert {item.name: item.kind for item in found.dependencies} == {
        "requests": InferredKind.RUNTIME,
        "numpy": InferredKind.OPTIONAL,
        "ujson": InferredKind.OPTIONAL,
    }


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    """A wrong path or a file of no known language is the caller's to mend."""
    with pytest.raises(UsageError, match="cannot be read"):
        infer(tmp_path / "missing.py")
    (tmp_path / "text.md").write_text("# import x")
    with pytest.raises(UsageError, match="neither a folder, a diff"):
        infer(tmp_path / "text.md")


@pytest.mark.parametrize(
    ("name", "source", "package"),
    [
        ("tests/test_it.py", "import yaml\nyaml.safe_load('')\n", "pyyaml"),
        ("tests/it.rs", "use serde_json::Value;\n", "serde_json"),
        ("test/it.test.js", "import chalk from 'chalk';\n", "chalk"),
        (
            "Tests/ItTests.cs",
            "using Newtonsoft.Json;\nclass It { string S() => JsonConvert.ToString(1); }\n",
            "Newtonsoft.Json",
        ),
    ],
)
def test_a_diff_alone_does_not_tell_what_is_for_tests(
    tmp_path: Path, name: str, source: str, package: str
) -> None:
    """Where the repository is not seen, its folders say nothing: what is imported is needed."""
    lines = source.splitlines()
    change = [f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,{len(lines)} @@", *(f"+{line}" for line in lines)]
    (tmp_path / "given.diff").write_text("\n".join([f"diff --git a/{name} b/{name}", *change, ""]))
    (found,) = infer(tmp_path / "given.diff")
    kinds = {item.name: item.kind for item in found.dependencies}
    assert kinds == {package: InferredKind.RUNTIME}
