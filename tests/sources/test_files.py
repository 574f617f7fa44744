"""Source files of repositories, notebooks and diffs, as bytes of UTF-8."""

from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.sources.files import (
    LARGEST,
    SourceFile,
    as_utf8,
    from_diff,
    grammar_of,
    looks_like_diff,
    notebook_source,
    read_tree,
)

DIFF = b"""\
diff --git a/x.py b/x.py
--- a/x.py
+++ b/x.py
@@ -1,3 +1,4 @@
 one
-two
+import two
+++ more
 three
@@ -10 +12 @@ def f():
-x
+import y
--- /dev/null
+++ "b/new.py"\t2024-01-01
@@ -0,0 +1,2 @@
+import n
+
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-z
--- a/same.py
+++ b/same.py
@@ -1 +1 @@
 z
--- a/doc.md
+++ b/doc.md
@@ -0,0 +1 @@
+x
"""


def test_of_a_diff_added_lines_count_where_they_stand() -> None:
    """The new side, at its own line numbers; not what is gone, unchanged or no source."""
    first, second = from_diff(DIFF)
    assert first.path == "x.py"
    assert first.data.split(b"\n") == [b"one", b"import two", b"++ more", b"three", *[b""] * 7, b"import y"]
    assert first.lines == frozenset({2, 3, 12})
    assert second == SourceFile("new.py", b"import n\n", frozenset({1, 2}))


def test_a_diff_is_known_by_its_heads() -> None:
    """With line ends of any kind, and not where one of three lines is lacking."""
    for data in (DIFF, DIFF.replace(b"\n", b"\r\n")):
        assert looks_like_diff(data)
    for gone in (b"--- a/x.py\n", b"+++ b/x.py\n", b"@@ -1,3 +1,4 @@\n"):
        assert not looks_like_diff(DIFF[: DIFF.index(b"--- /dev")].replace(gone, b""))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfa", "a"),
        (b"\xff\xfea\x00", "a"),
        (b"\xfe\xff\x00a", "a"),
        ("é".encode(), "é"),
        (b"\xe9", "é"),
        (b"", ""),
    ],
)
def test_any_encoding_becomes_utf_8(data: bytes, text: str) -> None:
    """By its mark, else by what fits."""
    assert as_utf8(data) == text.encode()


@pytest.mark.parametrize(
    ("cells", "code"),
    [
        (
            '[{"cell_type": "code", "source": ["import a\\n", "%matplotlib inline\\n"]}]',
            "import a\n# matplotlib inline",
        ),
        ('[{"cell_type": "markdown", "source": "import no"}, {"cell_type": "code", "source": "b"}]', "b"),
        ('[{"cell_type": "code", "source": "%%bash\\nls"}, {"cell_type": "code"}, 3]', ""),
        (
            '[{"cell_type": "code", "source": "%%time\\n  !pip install x\\n?help\\nx = 1"}]',
            "# %time\n  # pip install x\n# help\nx = 1",
        ),
        ("3", ""),
        (
            '[3, {"cell_type": "code", "source": "%%bash\\nls"}, {"cell_type": "raw", "source": "no"},'
            ' {"cell_type": "code", "source": " %%prun\\nx"}, {"cell_type": "code", "source": ["a = 1 %", 2]}]',
            " # %prun\nx\na = 1 %2",
        ),
    ],
)
def test_of_a_notebook_code_counts(cells: str, code: str) -> None:
    """Magics and shell lines are comments, cells of another language none."""
    assert notebook_source(f'{{"cells": {cells}}}'.encode()) == code.encode()


@pytest.mark.parametrize("data", [b"", b"[", b"[]", b"[" * 100_000])
def test_what_is_no_notebook_has_no_code(data: bytes) -> None:
    """However it is broken."""
    assert notebook_source(data) == b""


def test_a_repository_is_read_in_order(tmp_path: Path) -> None:
    """Sources and manifests; no folders of others, nothing too large, and of Vue only scripts."""
    files = {
        "b.py": b"import b",
        "a/c.PY": b"import c",
        "a/node_modules/x.py": b"import no",
        ".venv/x.py": b"import no",
        "page.vue": b"<b>x</b>\n<script setup>\nimport v\n</script>",
        "setup.cfg": b"[metadata]",
        "sub/package.json": b"{}",
        "README.md": b"import no",
        "just.py": b"#" * LARGEST,
        "large.py": b"#" * (LARGEST + 1),
    }
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    found = read_tree(tmp_path)
    assert [one.path for one in found.sources] == ["b.py", "just.py", "page.vue", "a/c.PY"]
    assert found.sources[2].data.strip() == b"import v"
    assert found.sources[2].data.count(b"\n") == 3
    assert found.sources[3].suffix == ".py"
    assert (list(found.manifests), found.whole) == (["setup.cfg", "sub/package.json"], True)


def test_scripts_stay_on_their_lines(tmp_path: Path) -> None:
    """All of them, and as many bytes before each as in the file; other elements are blanks."""
    page = "<p>\u00e9\n<SCRIPT lang='ts'>a</script>b<script>\nimport c</script\n><style>d</style><script>e"
    (tmp_path / "page.svelte").write_text(page, encoding="utf-8")
    (found,) = read_tree(tmp_path / "page.svelte").sources
    data = page.encode()
    assert len(found.data) == len(data)
    assert found.data.split() == [b"a", b"import", b"c"]
    assert [found.data.index(word) for word in (b"a", b"import c")] == [
        data.index(b">a") + 1,
        data.index(b"import"),
    ]
    assert [number for number, byte in enumerate(found.data) if byte == 10] == [
        number for number, byte in enumerate(data) if byte == 10
    ]


def test_a_diff_goes_on_after_odd_hunks() -> None:
    """A hunk without a length has one line; what follows it, and what has no head, is nobody's."""
    text = (
        b"+lost\n--- a/x.py\n+++ b/x.py\n@@ -1 +3 @@\n+a\n+beyond\n@@ -9,0 +8,0 @@\n+none\n@@ -9 +5,2 @@\n\n+b\n"
    )
    assert [*from_diff(text)] == [SourceFile("x.py", b"\n\na\n\n\nb", frozenset({3, 6}))]
    assert [*from_diff(b"")] == []
    assert [*from_diff(b"@@ -1 +1 @@\n+a\n")] == []


def test_a_file_alone_is_a_source_or_a_diff(tmp_path: Path) -> None:
    """Whatever its name, where it reads as a diff; else refused with what can be named."""
    (tmp_path / "x.py").write_bytes(b"import x")
    (tmp_path / "change.txt").write_bytes(DIFF)
    (tmp_path / "empty.patch").write_bytes(b"")
    (tmp_path / "notes.txt").write_bytes(b"import x")
    assert read_tree(tmp_path / "x.py") == ((SourceFile("x.py", b"import x"),), {}, False, {})
    assert [one.path for one in read_tree(tmp_path / "change.txt").sources] == ["x.py", "new.py"]
    assert read_tree(tmp_path / "empty.patch") == ((), {}, False, {})
    for name, says in (
        ("notes.txt", "neither a folder, a diff, nor a source file of a known language"),
        ("absent", "cannot be read: No such file or directory; name a folder, a source file or a diff"),
    ):
        with pytest.raises(UsageError) as caught:
            read_tree(tmp_path / name)
        assert str(caught.value) in (f"{tmp_path / name}: {says}", f"{tmp_path / name} {says}")


def test_grammars_go_by_suffix() -> None:
    """One language may have several."""
    assert grammar_of("javascript", ".tsx") != grammar_of("javascript", ".js")
    assert grammar_of("python", ".py") == "python"
