"""Import statements are shown as the source writes them, in four languages."""

import pytest

from groundup.agents.dependencies.repository import import_statements
from groundup.domain.languages import DependencyLanguage as Language
from groundup.sources.files import SourceFile

CASES: list[tuple[Language, str, str, list[str]]] = [
    (
        "python",
        "a.py",
        "import os, sys\nfrom a.b import (\n    c,\n)\ndef f():\n    import lazy\nx = 'import no'\n",
        ["import os, sys", "from a.b import (\n    c,\n)", "import lazy"],
    ),
    (
        "javascript",
        "a.js",
        "import a from 'a';\nexport * from 'b';\nexport const no = 1;\nconst c = require('c');\n"
        "f(() => import('d'));\n",
        ["import a from 'a';", "export * from 'b';", "const c = require('c');", "f(() => import('d'));"],
    ),
    ("javascript", "a.tsx", "import type { T } from 't';\nconst x = <A/>;\n", ["import type { T } from 't';"]),
    (
        "rust",
        "a.rs",
        "use a::{b, c};\nextern crate d;\nmod e;\nfn f() { use g::h; }\n",
        ["use a::{b, c};", "extern crate d;", "use g::h;"],
    ),
    (
        "csharp",
        "a.cs",
        "using A.B;\nusing static C.D;\nnamespace E { using F; class G {} }\n",
        ["using A.B;", "using static C.D;", "using F;"],
    ),
]


@pytest.mark.parametrize(("language", "path", "source", "expected"), CASES)
def test_statements(language: Language, path: str, source: str, expected: list[str]) -> None:
    """All import statements of the file, wherever they stand, each once, and nothing else."""
    assert import_statements(SourceFile(path, (source * 2).encode()), language) == expected


@pytest.mark.parametrize("language", ["python", "javascript", "rust", "csharp"])
def test_what_cannot_be_parsed_says_nothing(language: Language) -> None:
    """Bytes that are no source of the language make no trouble."""
    assert import_statements(SourceFile("x", bytes(range(256))), language) == []
