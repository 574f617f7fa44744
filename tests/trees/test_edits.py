"""Files changed by named rules."""

import ast
import contextlib
from keyword import iskeyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.domain.errors import TaskError
from groundup.trees.edits import FileEdit, RuleError, applied, crlf, lf, sha256_of, star_imports

_NAMES = st.from_regex(r"[a-z]{1,6}", fullmatch=True).filter(lambda name: not iskeyword(name))
_IMPORT = st.builds(
    lambda module, names, wrapped: (
        f"from lib.{module} import (\n    {', '.join(names)},\n)"
        if wrapped
        else f"from lib.{module} import {', '.join(names)}"
    ),
    _NAMES,
    st.lists(_NAMES, min_size=1, max_size=3),
    st.booleans(),
)
_OTHER = st.sampled_from(
    [
        "import os",
        "from other import x",
        "from . import y",
        "",
        "# from lib import z",
        "def f():\n    from lib import q\n    return q",
    ]
)


@given(st.lists(_IMPORT, min_size=1), st.lists(_OTHER))
def test_a_star_for_every_import_of_the_package(imports: list[str], others: list[str]) -> None:
    """Each import of the library is one line with a star; every other line is as it was."""
    text = "\n".join([*others, *imports, *others]) + "\n"
    made = star_imports(text, "lib")

    found = [node for node in ast.parse(made).body if isinstance(node, ast.ImportFrom)]
    stars = [node for node in found if (node.module or "").startswith("lib.")]
    assert len(stars) == len(imports)
    assert all([name.name for name in node.names] == ["*"] and node.lineno == node.end_lineno for node in stars)
    kept = [line for other in others for line in other.split("\n")]
    assert [line for line in made.split("\n")[:-1] if not line.startswith("from lib.")] == kept * 2
    assert star_imports(made, "lib") == made


@given(st.binary())
def test_line_ends_come_back(content: bytes) -> None:
    """Windows' line ends are put on once, and taken off again; either rule twice is the rule once."""
    assert crlf(crlf(content)) == crlf(lf(content))
    assert lf(crlf(lf(content))) == lf(content).replace(b"\r\n", b"\n")
    assert b"\n" not in crlf(content).replace(b"\r\n", b"")


@given(
    st.text(),
    st.lists(st.tuples(st.sampled_from(["drop", "skip", "star-imports", "replace", "nothing"]), st.text())),
)
def test_no_step_ends_otherwise_than_with_a_sentence(text: str, steps: list[tuple[str, ...]]) -> None:
    """Whatever a recipe says of whatever file: bytes come out, or an error of the recipe."""
    with contextlib.suppress(RuleError):
        applied(text.encode("utf-8", "surrogatepass"), steps)


@pytest.mark.parametrize(
    ("before", "step", "after"),
    [
        ("a\nreadme = 1\nb", ("drop", "readme ="), "a\nb"),
        ("a\n    long = 1\nb", ("comment", "    long"), "a\n#     long = 1\nb"),
        ("a\n    long = 1\nb", ("comment-within", "long", "#"), "a\n    #long = 1\nb"),
        ("[a]\nx\n\n[b]\ny\n[c]\nz", ("drop-section", "[b]"), "[a]\nx\n\n[c]\nz"),
        ("x = 1\n", ("replace", "1", "2"), "x = 2\n"),
        ("import a\n\nx", ("fill-empty", "import a", "import b"), "import a\nimport b\nx"),
        ("x = 1\n\ndef test():\n    pass", ("skip", "test"), "x = 1\n@pytest.mark.skip\ndef test():\n    pass"),
        (
            "class A:\n    def t(self):\n        pass",
            ("decorate", "t", "@s"),
            "class A:\n    @s\n    def t(self):\n        pass",
        ),
        ("x = 1\n\n\nclass A:\n    y = 2\n\nz = 3", ("without-definition", "A"), "x = 1\n\nz = 3"),
        (
            "from a import b\n\ndef f():\n    return b",
            ("import-into", "from a import b", "line", "f"),
            "\n\ndef f():\n    from a import b\n    return b",
        ),
        (
            "import os\nfrom lib import a\nx = 1",
            ("star-imports-noted", "lib"),
            "import os\nfrom lib import *\n# from lib import a\nx = 1",
        ),
        ("", ("append", "x = 1", "y = 2"), "x = 1\ny = 2\n"),
        ("a\n", ("append", "b"), "a\nb\n"),
    ],
)
def test_what_each_rule_does(before: str, step: tuple[str, ...], after: str) -> None:
    """One smallest example for each."""
    assert applied(before.encode(), [step]).decode() == after


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([("no-rule",)], "no rule is called 'no-rule'"),
        ([("drop", "absent")], "no line begins with 'absent'"),
        ([("drop",)], "takes other arguments"),
        ([("replace", "x", "y")], "stands there 2 times"),
        ([("import-into", "x x", "line", "f"), ("lf",)], "the file is no Python"),
        ([("import-into", "absent", "line", "f")], "'absent' stands there 0 times"),
        ([("star-imports", "lib")], "the file is no Python"),
        ([("lf",), ("drop", "x"), ("star-imports", "lib")], "no module-level import from lib"),
    ],
)
def test_a_rule_without_its_place_is_refused(steps: list[tuple[str, ...]], says: str) -> None:
    """A rule that changes nothing, or is not clear, is an error of the recipe."""
    with pytest.raises(RuleError, match=says):
        applied(b"x x\n", steps)


def test_only_the_stated_file_comes_out() -> None:
    """Another original, or another rule, makes another digest: refused, and the sentence names the file."""
    edit = FileEdit(sha256=sha256_of(b"a\r\n"), steps=(("crlf",),))
    assert edit.of(b"a\n", "tests/x.py") == b"a\r\n"
    with pytest.raises(TaskError, match=r"tests/x.py: its rules make a file \w{12}, not \w{12}; mend the recipe"):
        edit.of(b"b\n", "tests/x.py")


@pytest.mark.parametrize(
    ("text", "step", "says"),
    [
        ("a\nb", ("fill-empty", "a", "c"), "no empty line after 'a'"),
        ("\nb", ("fill-empty", "a", "c"), "no line 'a'"),
        ("x = 1\ndef t():\n    pass", ("skip", "t"), "no empty line stands above t"),
        ("def t():\n    pass", ("skip", "t"), "no empty line stands above t"),
        ("import a", ("import-into", "import a", "line", "f"), "not all of f are functions"),
    ],
)
def test_a_rule_that_finds_no_room_is_refused(text: str, step: tuple[str, ...], says: str) -> None:
    """Its line or function is not there, or no empty line is."""
    with pytest.raises(RuleError, match=says):
        applied(text.encode(), [step])
