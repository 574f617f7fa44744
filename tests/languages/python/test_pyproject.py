"""pyproject.toml as the standards, Poetry, PDM, uv, Flit and Hatch write it."""

import tomllib

import pytest

from groundup.languages.python.pyproject import Pyproject, needs_source, without_source
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, ManifestError
from tests.manifests.span_laws import assert_laws

FORMAT = Pyproject()
PATH = "pyproject.toml"

STANDARD = b"""\
[build-system]
requires = ["hatchling", "hatch-vcs>=0.3"]  # stays

[project]
name = "thing"
dynamic = ["version"]
dependencies = [
    # the web
    "requests[socks]>=2.8.1,<3 ; python_version < '3.12'",  # why
    'Foo.Bar',
    "local @ git+https://example.org/local.git@v1#subdirectory=py",
]

[project.optional-dependencies]
test = ["pytest>=7", "pytest-cov"]
docs = []

[dependency-groups]
dev = ["ruff", {include-group = "test"}]
test = ["coverage[toml]"]
typing = ["mypy"]
"""

PIXI = b"""\
[project]
name = "thing"
dependencies = ["requests"]

[tool.pixi.dependencies]
python = ">=3.11"
pytorch = ">=2"

[tool.pixi.pypi-dependencies]
thing = { path = ".", editable = true }
rich = "*"

[tool.pixi.feature.test.pypi-dependencies]
pytest = { version = ">=8", extras = ["testing"] }
"""

POETRY = b"""\
[tool.poetry]
name = "thing"

[tool.poetry.dependencies]
python = "^3.9"
# the web
requests = { version = "^2.8", extras = ["socks"] }
click = "*"
mine = { git = "https://example.org/mine.git", branch = "main" }
beside = { path = "../beside", develop = true }
psycopg2 = { version = "^2.9", optional = true, markers = "sys_platform == 'linux'" }
numpy = [
    { version = "1.21", python = "<3.8" },
    { version = "^1.26", python = ">=3.8" },
]

[tool.poetry.dependencies.pandas]
version = "^2.0"

[tool.poetry.extras]
pg = ["psycopg2"]

[tool.poetry.dev-dependencies]
black = "^22"

[tool.poetry.group.docs.dependencies]
mkdocs = "*"
"""

TOOLS = b"""\
[project]
name = "thing"
dependencies = ["torch", "sibling", "plain"]

[tool.uv]
dev-dependencies = ["pytest"]
constraint-dependencies = ["grpcio<1.65"]
override-dependencies = ["werkzeug==2.3.0"]

[tool.uv.sources]
torch = { index = "pytorch" }
sibling = { workspace = true }

[[tool.uv.index]]
name = "pytorch"
url = "https://example.org/whl"

[tool.pdm.dev-dependencies]
lint = ["flake8", "-e file:///${PROJECT_ROOT}/sub#egg=sub"]

[tool.hatch.envs.test]
dependencies = ["pytest-xdist"]
"""


def declared(data: bytes) -> dict[tuple[str, str, str], Dependency]:
    """Return what a file declares by kind, group and normalised name."""
    return {(item.kind, item.group, item.normalised): item for item in FORMAT.read(data, PATH).dependencies}


@pytest.mark.parametrize("data", [STANDARD, POETRY, PIXI], ids=["standard", "poetry", "pixi"])
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
def test_laws(data: bytes, ends: bytes, bom: bytes) -> None:
    """The laws hold for every way of writing dependencies, with either line end, with and without BOM."""
    assert_laws(FORMAT, bom + data.replace(b"\n", ends), PATH, most_removed=20)


def test_pep_621() -> None:
    """Names, extras, constraints, markers and direct references are read as written."""
    found = declared(STANDARD)
    requests = found["runtime", "", "requests"]
    assert (requests.extras, requests.constraint) == (("socks",), ">=2.8.1,<3")
    assert requests.marker == "python_version < '3.12'"
    assert requests.location is not None
    assert requests.location.line == 9
    assert found["runtime", "", "foo-bar"].name == "Foo.Bar"
    local = found["runtime", "", "local"]
    assert (local.source, local.origin) == (DependencySource.GIT, "https://example.org/local.git")
    assert dict(local.details) == {"rev": "v1", "subdirectory": "py"}
    assert found["optional", "test", "pytest"].constraint == ">=7"
    assert found["build", "", "hatch-vcs"].kind is DependencyKind.BUILD


def test_dependency_groups() -> None:
    """PEP 735 groups are test, dev or named ones by their names, and an included group is a reference."""
    found = declared(STANDARD)
    assert ("dev", "dev", "ruff") in found
    assert found["test", "test", "coverage"].extras == ("toml",)
    assert ("group", "typing", "mypy") in found
    notes = FORMAT.read(STANDARD, PATH).notes
    assert any(note.topic == "reference" and "includes group 'test'" in note.message for note in notes)


def test_a_mask_touches_nothing_else() -> None:
    """A mask empties the lists of dependencies and leaves every other line, build requirements included."""
    masked = FORMAT.mask(STANDARD, PATH)
    assert masked == (
        b'[build-system]\nrequires = ["hatchling", "hatch-vcs>=0.3"]  # stays\n\n'
        b'[project]\nname = "thing"\ndynamic = ["version"]\ndependencies = []\n\n'
        b"[project.optional-dependencies]\ntest = []\ndocs = []\n\n"
        b'[dependency-groups]\ndev = [{include-group = "test"}]\ntest = []\ntyping = []\n'
    )
    assert b"hatchling" not in FORMAT.mask(STANDARD, PATH, kinds=set(DependencyKind))


def test_pixi() -> None:
    """Tables of conda's channels and of the index are told apart; the interpreter is none of them."""
    found = declared(PIXI)
    assert found["runtime", "pixi conda", "pytorch"].origin == "conda"
    assert (found["runtime", "pixi", "rich"].constraint, found["runtime", "pixi", "rich"].origin) == ("", "")
    assert found["runtime", "pixi", "thing"].source is DependencySource.PATH
    assert found["test", "pixi test", "pytest"].extras == ("testing",)
    assert not any(name == "python" for _, _, name in found)
    masked = FORMAT.mask(PIXI, PATH, kinds={DependencyKind.RUNTIME})
    assert b"rich" not in masked
    assert b'python = ">=3.11"' in masked


def test_poetry() -> None:
    """Poetry's tables keep extras, markers, git, path, optional ones, groups and alternatives."""
    found = declared(POETRY)
    assert found["runtime", "", "requests"].extras == ("socks",)
    assert found["runtime", "", "click"].constraint == ""
    assert found["runtime", "", "mine"].source is DependencySource.GIT
    assert found["runtime", "", "beside"].origin == "../beside"
    assert found["optional", "pg", "psycopg2"].marker == "sys_platform == 'linux'"
    assert found["dev", "dev", "black"].constraint == "^22"
    assert ("group", "docs", "mkdocs") in found
    assert [item.constraint for item in FORMAT.read(POETRY, PATH).dependencies if item.name == "numpy"] == [
        "1.21",
        "^1.26",
    ]
    assert not any(name == "python" for _, _, name in found)


def test_poetry_mask_forgets_extras_and_comments() -> None:
    """Masking Poetry leaves python's version, but no name in extras and no comment that speaks of one."""
    masked = FORMAT.mask(POETRY, PATH).decode()
    assert 'python = "^3.9"' in masked
    assert "pg = []" in masked
    assert "the web" not in masked
    assert "pandas" not in masked


def test_poetry_2_says_things_once() -> None:
    """A Poetry table beside PEP 621 only says more about its dependencies, and goes with them."""
    data = (
        b'[project]\nname = "x"\ndependencies = ["mine (>=1)", "click"]\n\n'
        b'[tool.poetry.dependencies]\npython = "^3.9"\nmine = { git = "https://example.org/mine.git" }\n'
    )
    found = declared(data)
    assert len(found) == 2
    assert found["runtime", "", "mine"].origin == "https://example.org/mine.git"
    assert b"mine" not in FORMAT.mask(data, PATH)
    kept = FORMAT.write(data, [found["runtime", "", "click"]], PATH)
    assert b"mine" not in kept
    assert b'"click"' in kept


def test_dynamic_poetry_2_declares() -> None:
    """With dynamic dependencies the Poetry table is where they are declared."""
    data = b'[project]\nname = "x"\ndynamic = ["dependencies"]\n\n[tool.poetry.dependencies]\nclick = "^8"\n'
    assert list(declared(data)) == [("runtime", "", "click")]
    assert any(note.topic == "dynamic" for note in FORMAT.read(data, PATH).notes)


def test_tools() -> None:
    """uv's sources, constraints and overrides, PDM's groups and Hatch's environments are read and masked."""
    found = declared(TOOLS)
    assert found["runtime", "", "sibling"].source is DependencySource.WORKSPACE
    assert dict(found["runtime", "", "torch"].details) == {"index": "pytorch"}
    assert ("constraint", "", "grpcio") in found
    assert ("override", "", "werkzeug") in found
    assert ("dev", "dev", "pytest") in found
    assert dict(found["dev", "lint", "sub"].details) == {"editable": "true"}
    assert ("test", "hatch.envs.test", "pytest-xdist") in found
    masked = tomllib.loads(FORMAT.mask(TOOLS, PATH).decode())
    assert masked["tool"]["uv"]["sources"] == {}
    assert FORMAT.write(TOOLS, FORMAT.read(TOOLS, PATH).dependencies, PATH) == TOOLS


def test_new_sections_are_made() -> None:
    """What has no section yet gets one where the project's tool expects it."""
    new = [
        Dependency(language="python", name="click", normalised="click", constraint=">=8"),
        Dependency(language="python", name="rich", normalised="rich", kind=DependencyKind.OPTIONAL, group="cli"),
        Dependency(language="python", name="trio", normalised="trio", kind=DependencyKind.OPTIONAL, group="io"),
        Dependency(language="python", name="ruff", normalised="ruff", kind=DependencyKind.DEV, group="dev"),
    ]
    standard = tomllib.loads(FORMAT.write(b'[project]\nname = "x"\n', new, PATH).decode())
    assert standard["project"]["dependencies"] == ["click>=8"]
    assert standard["project"]["optional-dependencies"] == {"cli": ["rich"], "io": ["trio"]}
    assert standard["dependency-groups"] == {"dev": ["ruff"]}
    poetry = tomllib.loads(FORMAT.write(b'[tool.poetry]\nname = "x"', new, PATH).decode())["tool"]["poetry"]
    assert poetry["dependencies"]["click"] == ">=8"
    assert poetry["dependencies"]["rich"] == {"version": "*", "optional": True}
    assert poetry["group"]["dev"]["dependencies"] == {"ruff": "*"}


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b'[project]\ndependencies = ["a"\n', 2),
        (b'[project]\ndependencies = [\n  "a",\n  "b"\n# of tools\n\n[tool.x]\n', 4),
        (b"[project\n", 1),
        (b'a = 1\n\na = "2"\n', 3),
    ],
)
def test_malformed(data: bytes, line: int) -> None:
    """A file that is no TOML gives one error that names file and line: of an array without an end its last one."""
    with pytest.raises(ManifestError, match=rf"sub/pyproject\.toml:{line}: is not valid TOML") as caught:
        FORMAT.read(data, "sub/pyproject.toml")
    assert caught.value.line == line


def test_what_pep_508_cannot_say_is_refused() -> None:
    """A Poetry constraint is not written into a standard list."""
    caret = Dependency(language="python", name="a", normalised="a", constraint="^1.2")
    with pytest.raises(ManifestError, match="not valid PEP 508"):
        FORMAT.write(STANDARD, [caret], PATH)


@pytest.mark.parametrize(
    "data",
    [
        b'[project]\nname="x"\ndependencies = {a = "1"}\n',
        b'[project]\nname="x"\ndependencies = "a"\n',
        b"[project]\nname='x'\ndependencies = [1, {a = 2}, '']\n",
        b"[tool.poetry.dependencies]\na = 1\nb = []\nc = {extras = 3}\n",
        b"project = 3\n",
        b"[tool]\npoetry = 'x'\nuv = []\n",
        b"[dependency-groups]\na = 'b'\nc = {d = 1}\n",
        b"",
    ],
)
def test_unexpected_shapes_do_not_crash(data: bytes) -> None:
    """Valid TOML of another shape than the tools document is read, masked and written without a crash."""
    manifest = FORMAT.read(data, PATH)
    assert FORMAT.write(data, manifest.dependencies, PATH) == data
    FORMAT.read(FORMAT.mask(data, PATH), PATH)


@pytest.mark.parametrize(
    ("source", "origin", "details", "needs"),
    [
        ("registry", "", (), False),
        ("registry", "", (("index", "mirror"),), True),
        ("git", "https://example.org/a.git", (), False),
        ("git", "https://example.org/a.git", (("rev", "1"),), False),
        ("git", "https://example.org/a.git", (("branch", "dev"),), True),
        ("git", "https://example.org/a.git", (("tag", "v1"),), True),
        ("url", "https://example.org/a.whl", (), False),
        ("path", "../a", (), True),
        ("path", "file:///a", (), False),
        ("workspace", "", (), True),
    ],
)
def test_what_pep_508_cannot_say_needs_a_table_of_sources(
    source: str, origin: str, details: tuple[tuple[str, str], ...], *, needs: bool
) -> None:
    """A relative path, a member of a workspace, a named index, a branch or tag; the name is left without it."""
    asked = Dependency(
        language="python",
        name="a",
        normalised="a",
        source=DependencySource(source),
        origin=origin,
        details=details,
    )
    assert needs_source(asked) is needs
    plain = asked.but(source=DependencySource.REGISTRY, origin="", details=())
    assert without_source(asked) == (plain if needs else asked)
