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


WHOLE = """\
from __future__ import annotations
import os
from lib import a
from lib.sub import (
    b,
    c,
)
from library import d
from . import e
try:
    from lib import f
except ImportError:
    pass


@one
@two(
    3
)
class A:
    def t(self):
        '''Say.'''
        return a

    async def u(self): return b


def t():
    pass
"""


@pytest.mark.parametrize(
    ("step", "changed"),
    [
        (("star-imports", "lib"), {3: "from lib import *", "4-7": "from lib.sub import *"}),
        (
            ("star-imports", "lib", "library"),
            {3: "from lib import *", "4-7": "from lib.sub import *", 8: "from library import *"},
        ),
        (("star-imports", "lib.sub"), {"4-7": "from lib.sub import *"}),
        (("star-imports", "library"), {8: "from library import *"}),
        (
            ("star-imports-noted", "lib"),
            {
                3: "from lib import *",
                "4-7": "from lib.sub import *\n# from lib import a\n"
                "# from lib.sub import (\n#     b,\n#     c,\n# )",
            },
        ),
        (
            ("import-into", "import os", "nothing", "t"),
            {2: None, 22: "        import os\n        '''Say.'''", 29: "    import os\n    pass"},
        ),
        (("skip", "t", "@s"), {27: "@s"}),
        (("skip", "u"), {24: "    @pytest.mark.skip"}),
        (("skip", "A"), {15: "@pytest.mark.skip"}),
        (("decorate", "A", "@three"), {20: "@three\nclass A:"}),
        (("decorate", "u", "@three"), {25: "    @three\n    async def u(self): return b"}),
        (("without-definition", "A"), {"14-25": None}),
        (("without-definition", "u"), {"24-25": None}),
        (("fill-empty", "    pass", "x = 1"), {14: "x = 1"}),
        (("fill-empty", "@one", "x = 1"), {24: "x = 1"}),
        (("drop", "from lib "), {3: None, 11: None}),
        (("comment", "from lib "), {3: "# from lib import a"}),
        (
            ("comment", "from l", "#"),
            {3: "#from lib import a", 4: "#from lib.sub import (", 8: "#from library import d"},
        ),
        (("comment-within", "from lib "), {3: "# from lib import a", 11: "    # from lib import f"}),
        (("comment-within", "@"), {16: "# @one", 17: "# @two("}),
    ],
)  # fmt: skip
def test_of_a_whole_file_only_what_is_meant_changes(
    step: tuple[str, ...], changed: dict[int | str, str | None]
) -> None:
    """Lines of several, decorators over lines, methods, nested and relative imports."""
    lines: list[str | None] = [*WHOLE.split("\n")]
    for place, text in changed.items():
        first, _, last = str(place).partition("-")
        lines[int(first) - 1 : int(last or first)] = [text] + [None] * (int(last or first) - int(first))
    assert applied(WHOLE.encode(), [step]).decode() == "\n".join(line for line in lines if line is not None)


@pytest.mark.parametrize(
    ("text", "step", "after"),
    [
        ("[a]\nx\n[b]\ny", ("drop-section", "[a]"), "[b]\ny"),
        ("[a]\nx = [\n1]\n", ("drop-section", "[a]"), ""),
        ("k\n[a]\n[b]", ("drop-section", "[a]"), "k\n[b]"),
        ("\n\nclass A: pass", ("without-definition", "A"), ""),
        ("a\n \nb\n\n", ("fill-empty", "a", "c"), "a\nc\nb\n\n"),
        ("a\n\na\n\n", ("fill-empty", "a", "c"), "a\nc\na\n\n"),
        ("a\r\nb\n\r", ("lf",), "a\nb\n\r"),
        ("a\r\nb\n\r", ("crlf",), "a\r\nb\r\n\r"),
        ("  a a\na", ("comment-within", "a", "#"), "  #a a\n#a"),
        ("from a import b\nimport c", ("star-imports",), "from a import *\nimport c"),
        ("from a import b", ("star-imports-noted",), "from a import *\n# from a import b"),
        ("a", ("append", "b"), "a\nb\n"),
    ],
)
def test_each_rule_at_its_bounds(text: str, step: tuple[str, ...], after: str) -> None:
    """Nothing before, nothing after, twice, other line ends."""
    assert applied(text.encode(), [step]).decode() == after


@pytest.mark.parametrize(
    ("content", "step", "says"),
    [
        (b"a\xff", ("drop", "a"), "drop: the file is not UTF-8 (byte 2)"),
        (b"a", ("drop",), "drop: takes other arguments than []"),
        (b"a", ("skip", "a", "b", "c"), "skip: takes other arguments than ['a', 'b', 'c']"),
        (
            b"a",
            ("other",),
            "no rule is called 'other'; there are append, comment, comment-within, crlf, decorate, drop, "
            "drop-section, fill-empty, import-into, lf, replace, skip, star-imports, star-imports-noted, "
            "without-definition",
        ),
        (b"import a", ("star-imports",), "no module-level import from anywhere"),
        (b"from . import a", ("star-imports", "a", "b"), "no module-level import from a or b"),
        (b"a\na", ("import-into", "a", "line", "f"), "'a' stands there 2 times"),
        (b"a\ndef f(): pass", ("import-into", "a", "line", "f", "g"), "not all of f, g are functions of it"),
        (b"a", ("drop-section", "[a]"), "no section [a]"),
        (b"a", ("comment", "b"), "no line begins with 'b'"),
        (b" a", ("comment", "a"), "no line begins with 'a'"),
        (b"\ta", ("comment-within", "a"), "no line begins with 'a' after blanks"),
        (b"a", ("replace", "", "b"), "'' stands there 0 times"),
        (b"aba", ("replace", "a", "b"), "'a' stands there 2 times"),
        (b"a", ("append",), "append: no line is given"),
        (b"x = 1", ("decorate", "x", "@a"), "nothing in it is called x"),
        (b"a\0", ("skip", "a"), "the file is no Python: source code string cannot contain null bytes"),
    ],
)
def test_each_refusal_says_what_is_missing(content: bytes, step: tuple[str, ...], says: str) -> None:
    """To the letter, and behind the file's name for who mends the recipe."""
    with pytest.raises(RuleError) as refused:
        applied(content, [step])
    assert str(refused.value) == says
    with pytest.raises(TaskError) as told:
        FileEdit(sha256="0" * 64, steps=(step,)).of(content, "a.py")
    assert str(told.value) == f"a.py: {says}; mend the recipe"
