"""Whatever the bytes are, reading them ends, and ends well."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundup.sources.files import SourceFile, SourceFiles, as_utf8, from_diff, notebook_source
from groundup_infer.csharp_files import csharp_imports
from groundup_infer.inference import infer_tree
from groundup_infer.javascript_inference import javascript_imports
from groundup_infer.python_imports import python_imports
from groundup_infer.rust import rust_imports
from tests.effort import often

PIECES = st.sampled_from(
    [
        *(b"import x\n", b"from . import y\n", b"try:\n", b"  ", b"except ImportError:\n", b"if TYPE_CHECKING:\n"),
        *(
            b"else:\n",
            b"use a::{b, c};",
            b"mod x {",
            b"}",
            b"#[cfg(test)]",
            b"extern crate z;",
            b"m!(q::r)",
            b"::",
        ),
        *(
            b"import t from 't'",
            b"require('u')",
            b"export * from",
            b"using A.B;",
            b"namespace C {",
            b"+import v\n",
        ),
        *(b'"""', b"'", b"\\", b"\x00", b"\xff\xfe", b"{", b"(", b"+++ b/a.py\n", b"@@ -1 +1,99 @@\n"),
    ]
)
SOURCES = st.one_of(st.binary(max_size=300), st.lists(PIECES, max_size=30).map(b"".join))
PATHS = [
    "a.py",
    "p/__init__.py",
    "p/a.pyi",
    "n.ipynb",
    "src/lib.rs",
    "b/main.rs",
    "i.js",
    "i.tsx",
    "v.vue",
    "C.cs",
    "P.razor",
]
MANIFESTS = [
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "Cargo.toml",
    "package.json",
    "tsconfig.json",
    "x/Cargo.toml",
]


@given(SOURCES)
def test_no_bytes_break_an_importer(data: bytes) -> None:
    """Every importer accepts everything."""
    source = as_utf8(data)
    python_imports(source)
    rust_imports(source)
    csharp_imports(source)
    csharp_imports(source, ".razor")
    for suffix in (".js", ".ts", ".tsx"):
        javascript_imports(source, suffix)
    notebook_source(data)
    list(from_diff(data))


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=often(60))
@given(
    st.dictionaries(st.sampled_from(PATHS), SOURCES, min_size=1, max_size=6),
    st.dictionaries(st.sampled_from(MANIFESTS), SOURCES, max_size=3),
    st.booleans(),
)
def test_no_repository_breaks_inference(files: dict[str, bytes], manifests: dict[str, bytes], whole: bool) -> None:
    """Every answer has evidence for each dependency, with a file that exists."""
    tree = SourceFiles(tuple(SourceFile(path, as_utf8(data)) for path, data in files.items()), manifests, whole)
    for found in infer_tree(tree):
        assert all(item.evidence and item.name for item in found.dependencies)
        assert {evidence.path for item in found.dependencies for evidence in item.evidence} <= files.keys()


@pytest.mark.parametrize(
    "source",
    [
        b"(" * 5000,
        b"try:\n " * 2000,
        b"{" * 5000 + b"use a::b;",
        b"if x:\n " * 500 + b"import y",
        b"a::" * 5000,
    ],
)
def test_depth_does_no_harm(source: bytes) -> None:
    """Nesting deeper than any recursion limit is read like anything else."""
    python_imports(source)
    rust_imports(source)
    javascript_imports(b"import x;" + source, ".ts")
