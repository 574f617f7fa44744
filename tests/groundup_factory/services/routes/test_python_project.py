"""How texts, names and calls of a project in Python are read."""

from textwrap import dedent

import pytest

from groundup.sources.files import SourceFile
from groundup_factory.services.routes.python_project import Module, RouteProject, arguments, called, decorators


def project(**sources: str) -> RouteProject:
    """Return a project of modules named by keywords, with `__` for a folder."""
    files = (
        SourceFile(f"{name.replace('__init', '/__init__').replace('__of', '/')}.py", dedent(text).encode())
        for name, text in sources.items()
    )
    return RouteProject(files)


_NAMES = """
    from other import AWAY as NEAR, lists
    import other
    ONE = "/one"
    TWICE = "/a"
    TWICE = "/b"
    SAME = "/s"
    SAME = "/s"
    LIST = ["/x", ONE, 7, "/y"]
    LOOP = LOOP
    class Settings:
        PREFIX = "/settings"
"""


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("'/a'", "/a"),
        ("r'/a'", "/a"),
        ("''", ""),
        ("b'/a'", None),
        ("rb'/a'", None),
        ("'/a' '/b'", "/a/b"),
        ("('/a')", "/a"),
        ("('/a'\n '/b')", "/a/b"),
        ("'/a' + '/b' + ONE", "/a/b/one"),
        ("'/a' * 2", None),
        ("'/a' % 2", None),
        ("f'/a{ONE}/{{id}}'", "/a/one/{id}"),
        ("'/a/{{id}}'", "/a/{{id}}"),
        ("f'/a{unknown}'", None),
        ("ONE", "/one"),
        ("NEAR", "/away"),
        ("other.AWAY", "/away"),
        ("other.MISSING", None),
        ("TWICE", None),
        ("SAME", "/s"),
        ("LOOP", None),
        ("settings.PREFIX", "/settings"),
        ("PREFIX", "/settings"),
        ("UNKNOWN", None),
        ("os.getenv('P', '/fallback')", "/fallback"),
        ("os.environ.get('P', default=ONE)", "/one"),
        ("os.getenv('P')", None),
        ("make('P', '/fallback')", None),
        ("7", None),
        ("'/' + unknown", None),
        (f"'{'x' * 1000}'", "x" * 1000),
        (f"'{'x' * 1001}'", None),
    ],
)
def test_the_text_of_an_expression(code: str, text: str | None) -> None:
    """What the source alone shows: literals, sums, constants of one value, and fallbacks of the environment."""
    read = project(main=f"{_NAMES}\n    ASKED = {code}\n", other="AWAY = '/away'\nlists = ['/l', '/m']\n")
    main = read.modules[0]
    assert read.text(main, main.assignments["ASKED"][0]) == text


@pytest.mark.parametrize(
    ("code", "texts"),
    [
        ("LIST", ["/x", "/one", "/y"]),
        ("lists", ["/l", "/m"]),
        ("['/a', '/b']", ["/a", "/b"]),
        ("('/a', '/b')", ["/a", "/b"]),
        ("{'/a'}", ["/a"]),
        ("'/a'", ["/a"]),
        ("ONE", ["/one"]),
        ("TWICE", []),
        ("7", []),
    ],
)
def test_the_texts_of_a_list(code: str, texts: list[str]) -> None:
    """A list by name, too; a text alone counts as one, and what is no text is left out."""
    read = project(main=f"{_NAMES}\n    ASKED = {code}\n", other="lists = ['/l', '/m']\n")
    main = read.modules[0]
    assert read.texts(main, main.assignments["ASKED"][0]) == texts
    assert read.texts(main, None) == []


@pytest.mark.parametrize(
    ("path", "code", "found"),
    [
        ("a/b/c.py", "from . import x", ("a.b", "x")),
        ("a/b/c.py", "from .d import x", ("a.b.d", "x")),
        ("a/b/c.py", "from ..d import x as y", ("a.d", "x")),
        ("a/b/c.py", "from ...d import x", ("d", "x")),
        ("a/b/__init__.py", "from . import x", ("a.b", "x")),
        ("a/b/__init__.py", "from .d import x", ("a.b.d", "x")),
        ("a/b/__init__.py", "from ..d import x", ("a.d", "x")),
        ("__init__.py", "from .d import x", ("d", "x")),
        ("c.py", "from d.e import x", ("d.e", "x")),
        ("c.py", "import d.e", ("d.e", "")),
        ("c.py", "import d.e as x", ("d.e", "")),
    ],
)
def test_where_an_import_leads(path: str, code: str, found: tuple[str, str]) -> None:
    """Relative ones count from the module's package, and a package is its own."""
    assert list(Module(SourceFile(path, code.encode())).imports.values()) == [found]


def test_names_lead_through_modules() -> None:
    """Through a package that hands on, to a submodule, and no further than what is there."""
    read = project(
        main="from app import made, inner, gone\nimport app\nimport lib\nhere = 1\nmade = made\n",
        app__init="from app.inner import made\nfrom lost import gone\n",
        app__ofinner="def made(): ...\nvalue = 1\n",
    )
    main = read.modules[0]
    for name, found in (
        ("here", ("main", "here")),
        ("unknown.name", ("main", "unknown.name")),
        ("inner.value", ("app.inner", "value")),
        ("app.made", ("app.inner", "made")),
        ("gone", ("lost", "gone")),
        ("gone.more", ("lost", "gone.more")),
        ("lib.x.y", ("lib", "x.y")),
        ("made", ("main", "made")),  # what is assigned here hides what is imported
    ):
        assert read.follow(main, name) == found, name
    definition = read.definition(main, "app.made")
    assert definition is not None
    assert definition[0].name == "app.inner"
    assert read.definition(main, "nowhere") is None
    assert read.module("inner") is read.module("app.inner")
    assert read.module("") is None


def test_modules_that_import_each_other_end() -> None:
    """A name that goes round is taken where the reading ends."""
    read = project(a="from b import x\n", b="from a import x\n")
    assert read.follow(read.modules[0], "x")[1] == "x"
    assert read.text(read.modules[0], None) is None


def test_calls_and_decorators() -> None:
    """A call is known by a dotted name alone; arguments have a place or a name, comments have neither."""
    module = Module(
        SourceFile(
            "a.py",
            b"x = a.b(1, # first\n two=2, *three, **four)\ny = made()(5)\nz = [n for n in f(i for i in j)]\n"
            b"@one\n@two.three(4)\ndef known(): ...\ndef bare(): ...\n",
        )
    )
    calls = {called(node): arguments(node) for node in module.nodes("call")}
    assert list(calls) == ["a.b", "", "made", "f", "two.three"]
    given = calls["a.b"]
    assert [one.text for one in given.positional] == [b"1", b"*three", b"**four"]
    two = given.get(0, "two")
    assert two is not None
    assert two.text == b"2"
    assert given.get(0, "one") == given.positional[0]
    assert given.get(None, "one") is None
    assert given.get(3) is None
    assert calls["f"].positional == ()
    definitions = module.nodes("function_definition")
    assert [[one.text for one in decorators(each)] for each in definitions] == [[b"one", b"two.three(4)"], []]
