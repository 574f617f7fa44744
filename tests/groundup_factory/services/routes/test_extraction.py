"""Routes of whole folders, and of hostile ones."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from groundup.sources.files import SourceFile
from groundup_factory.services.routes.extraction import read_routes, routes_in
from tests.effort import often

_FLASK = "from flask import Flask\napp = Flask(__name__)\n@app.get('{}')\ndef f(): ...\n"
_PYTHON = [
    "from flask import Flask\n",
    "from django.urls import path\n",
    "app = Flask(__name__)\n",
    "@app.route(",
    "'/a'",
    ", methods=['GET'])\n",
    "def f(): ...\n",
    "urlpatterns = [",
    "path('x', ",
    "include(",
    "]\n",
    ")",
    "f'{x}'",
    "x = x + x\n",
    "class A(A): ...\n",
    "\n",
    "  ",
    "# ",
    "'''",
    "router.register('a', A)\n",
    "router.urls",
    "DOMAIN = {",
    "Eve(settings=",
    "}",
    "app.include_router(app)\n",
]


def test_tests_and_dependencies_declare_nothing(tmp_path: Path) -> None:
    """Only the sources of the service count; links are not followed."""
    for name in ("app.py", "tests/app.py", "venv/lib/app.py", "test_app.py", "conftest.py", "src/inner.py"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_FLASK.format("/" + name))
    (tmp_path / "linked.py").symlink_to(tmp_path / "tests" / "app.py")
    assert [(route.path, route.file) for route in read_routes(tmp_path)] == [
        ("/app.py", "app.py"),
        ("/src/inner.py", "src/inner.py"),
    ]


def test_where_a_route_stands_is_reported() -> None:
    """File, line and framework lead a reader to the declaration."""
    (route,) = routes_in([SourceFile("app.py", _FLASK.format("/a").encode())])
    assert (route.framework, route.file, route.line) == ("flask", "app.py", 3)


def test_strings_that_double_do_not_grow() -> None:
    """Constants built from themselves many times over end within bounds."""
    lines = ["from flask import Flask", "app = Flask(__name__)", "x0 = '/aaaaaaaaaa'"]
    lines += [f"x{n} = x{n - 1} + x{n - 1} + x{n - 1}" for n in range(1, 60)]
    lines += ["@app.get(x59)", "def f(): ...", "@app.get(x1)", "def g(): ..."]
    found = routes_in([SourceFile("app.py", "\n".join(lines).encode())])
    assert [route.path for route in found] == ["/aaaaaaaaaa" * 3]


def test_deep_nesting_is_left_out() -> None:
    """What is nested deeper than anybody writes is no source; what is beside it is read."""
    deep = "from django.urls import path\nurlpatterns = [path('a', " + "f(" * 20_000 + "v" + ")" * 20_000 + ")]\n"
    sources = {"urls.py": deep, "app.py": _FLASK.format("/b")}
    found = routes_in([SourceFile(name, text.encode()) for name, text in sources.items()])
    assert [route.path for route in found] == ["/b"]


def test_wrapped_views_are_read() -> None:
    """A view in many wrappers is a view."""
    wrapped = "from django.urls import path\nurlpatterns = [path('a', " + "f(" * 50 + "v" + ")" * 50 + ")]\n"
    assert [route.path for route in routes_in([SourceFile("urls.py", wrapped.encode())])] == ["/a"]


@given(st.lists(st.sampled_from(_PYTHON), max_size=40))
@settings(max_examples=often(60), deadline=None)
def test_any_source_can_be_read(python: list[str]) -> None:
    """Broken and circular sources give routes or none, never an error."""
    for route in routes_in([SourceFile("a/b.py", "".join(python).encode())]):
        assert route.path.startswith("/")


@given(st.binary(max_size=300))
@settings(max_examples=often(60), deadline=None)
def test_any_bytes_can_be_read(data: bytes) -> None:
    """Sources need not be text, and what is no Python declares nothing."""
    assert routes_in([SourceFile("a.py", data)]) == ()
