"""The laws of Python's formats, on generated files."""

from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement

from groundup.languages.python.environment_yml import EnvironmentYml
from groundup.languages.python.poetry import Pipfile
from groundup.languages.python.pyproject import Pyproject
from groundup.languages.python.requirement import (
    RequirementsTxt,
    parse_requirement,
    render_requirement,
)
from groundup.languages.python.setup_cfg import SetupCfg
from groundup.languages.python.setup_py import SetupPy
from groundup.languages.spelling import python_name
from groundup.manifests.records import DependencyKind, ManifestError
from groundup.manifests.sections import ManifestFormat
from tests.effort import often
from tests.languages.python.test_other_formats import ENVIRONMENT, PIPFILE, SETUP_CFG
from tests.languages.python.test_pyproject import POETRY, STANDARD
from tests.languages.python.test_requirements_txt import FULL
from tests.languages.python.test_setup_py import CASES
from tests.manifests.span_laws import assert_laws

NAMES = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,6}[A-Za-z0-9])?", fullmatch=True)
SPECIFIERS = st.sampled_from(["", ">=1", "==1.*", "~=2.1,!=2.2", " >= 1.0 , < 2 ", "===weird"])
EXTRAS = st.sampled_from(["", "[a]", "[a, b-c]"])
MARKERS = st.sampled_from(["", "; python_version < '3.9'", " ; sys_platform == 'x' and extra == 'y'"])
LOCATIONS = st.sampled_from([" @ https://example.org/x.zip", " @ git+ssh://git@example.org/a/b.git@v1"])
REQUIREMENTS = st.one_of(
    st.builds("{}{}{}{}".format, NAMES, EXTRAS, SPECIFIERS, MARKERS),
    st.builds("{}{}{} {}".format, NAMES, EXTRAS, LOCATIONS, MARKERS),
).map(str.strip)
LISTS = st.lists(REQUIREMENTS, max_size=4)
COMMENTS = st.sampled_from(["", "  # why", "\n    # a line\n"])
ENDS = st.sampled_from([b"\n", b"\r\n"])


@given(REQUIREMENTS)
def test_requirements_agree_with_packaging(text: str) -> None:
    """Name, extras, specifier and marker are what `packaging` reads, and rendering reads back as the same."""
    ours, theirs = parse_requirement(text), Requirement(text)
    assert python_name(ours.name) == python_name(theirs.name)
    assert set(ours.extras) == theirs.extras
    assert bool(ours.constraint) == bool(str(theirs.specifier))
    assert bool(ours.marker) == bool(theirs.marker)
    assert parse_requirement(render_requirement(ours.dependency(DependencyKind.RUNTIME))) == ours


@given(st.text(max_size=40))
def test_any_text_is_read(text: str) -> None:
    """No text makes the reader of requirements fail."""
    parse_requirement(text)


def toml_list(items: list[str], comment: str) -> str:
    """Return an array of strings."""
    return "[" + "".join(f'\n    "{item}",{comment}' for item in items) + "\n]"


@settings(deadline=None, max_examples=often(40))
@given(LISTS, LISTS, LISTS, COMMENTS, ENDS)
def test_pyproject(runtime: list[str], extra: list[str], group: list[str], comment: str, end: bytes) -> None:
    """Standard lists obey the laws."""
    text = (
        f'[project]\nname = "x"\ndependencies = {toml_list(runtime, comment)}\n'
        f"[project.optional-dependencies]\nz = {toml_list(extra, '')}\n"
        f"[dependency-groups]\ndev = {toml_list(group, comment)}\n"
    )
    assert_laws(Pyproject(), text.encode().replace(b"\n", end), "pyproject.toml", most_removed=3)


KEYS = st.lists(NAMES, max_size=4, unique_by=python_name)
VALUES = st.sampled_from(
    ['"*"', '"^1.2"', '{ version = ">=1", extras = ["a"] }', '{git = "https://example.org/a", rev = "x"}',
     '{ version = "1", optional = true, markers = "sys_platform == \'x\'" }', '{path = "../a", develop = false}']
)  # fmt: skip


@settings(deadline=None, max_examples=often(40))
@given(KEYS, st.lists(VALUES, min_size=4, max_size=4), st.sampled_from(["", "# c\n", "\n"]), ENDS)
def test_poetry(names: list[str], values: list[str], between: str, end: bytes) -> None:
    """Poetry's tables obey the laws."""
    lines = between.join(f'"{name}" = {value}\n' for name, value in zip(names, values, strict=False))
    text = f'[tool.poetry]\nname = "x"\n[tool.poetry.dependencies]\npython = "3"\n{lines}\n[x]\na = 1\n'
    assert_laws(Pyproject(), text.encode().replace(b"\n", end), "pyproject.toml", most_removed=3)
    text = f"[packages]\n{lines}[requires]\na = 1\n"
    plain = text.replace(", optional = true", "")
    assert_laws(Pipfile(), plain.encode().replace(b"\n", end), "Pipfile", most_removed=3)


@settings(deadline=None, max_examples=often(40))
@given(LISTS, st.sampled_from(["", "  # why", "\n# a line", "\n", "\n-r other.txt"]), ENDS, st.booleans())
def test_requirements(items: list[str], after: str, end: bytes, ended: bool) -> None:
    """Requirements files obey the laws, with and without a last line end."""
    data = "\n".join(item + after for item in items).encode() + b"\n" * ended
    assert_laws(RequirementsTxt(), data.replace(b"\n", end), "requirements.txt", most_removed=3)


@settings(deadline=None, max_examples=often(40))
@given(LISTS, LISTS, ENDS)
def test_setup_cfg(runtime: list[str], extra: list[str], end: bytes) -> None:
    """Lists in setup.cfg obey the laws."""
    text = "[options]\ninstall_requires =\n" + "".join(f"    {item}\n" for item in runtime)
    text += "zip_safe = False\n\n[options.extras_require]\nx =\n" + "".join(f"  {item}\n" for item in extra)
    assert_laws(SetupCfg(), text.encode().replace(b"\n", end), "setup.cfg", most_removed=3)


@settings(deadline=None, max_examples=25)
@given(LISTS, LISTS, ENDS)
def test_setup_py(runtime: list[str], extra: list[str], end: bytes) -> None:
    """Lists in setup.py obey the laws."""
    text = f"setup(\n    install_requires={runtime!r},\n    extras_require={{'x': {extra!r}}},\n)\n"
    assert_laws(SetupPy(), text.encode().replace(b"\n", end), "setup.py", most_removed=3)


FORMATS: dict[str, ManifestFormat] = {
    "pyproject.toml": Pyproject(),
    "Pipfile": Pipfile(),
    "requirements.txt": RequirementsTxt(),
    "setup.cfg": SetupCfg(),
    "setup.py": SetupPy(),
    "environment.yml": EnvironmentYml(),
}
WHOLE: dict[str, bytes] = {
    "pyproject.toml": STANDARD + POETRY.replace(b"[tool.poetry]", b"[tool.poetry ]"),
    "Pipfile": PIPFILE,
    "requirements.txt": FULL,
    "setup.cfg": SETUP_CFG,
    "setup.py": "\n".join(CASES.values()).encode(),
    "environment.yml": ENVIRONMENT,
}


def check_any(data: bytes, path: str) -> None:
    """Assert that a file is read, masked and written as it is, or refused by name."""
    try:
        manifest = FORMATS[path].read(data, path)
    except ManifestError as error:
        printed = str(error)
        assert printed.startswith(path), printed
        return
    assert FORMATS[path].write(data, manifest.dependencies, path) == data
    FORMATS[path].mask(data, path)


@settings(deadline=None)
@given(st.binary(max_size=120), st.sampled_from(sorted(FORMATS)))
def test_any_bytes(data: bytes, path: str) -> None:
    """Any bytes are read, or refused with an error that names the file; nothing else is raised."""
    check_any(data, path)


@settings(deadline=None, max_examples=often(200))
@given(st.data(), st.sampled_from(sorted(FORMATS)))
def test_damaged_files(data: st.DataObject, path: str) -> None:
    """A whole file from which a piece is missing is read, or refused with an error that names the file."""
    whole = WHOLE[path]
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 60)))
    check_any(whole[:start] + whole[end:], path)
