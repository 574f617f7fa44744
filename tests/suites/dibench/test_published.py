"""The official metrics: every published fault that changes a score, reproduced, beside what strict says."""

from collections.abc import Mapping

import pytest

from groundup.domain.errors import TaskError
from groundup.manifests.records import Language
from groundup.suites.dibench.metrics import MatchCounts
from groundup.suites.dibench.published import PublishedFailureError, Reader, official_comparison

RIGHT = MatchCounts(true_positives=1)
WRONG = MatchCounts(false_positives=1, false_negatives=1)
NOTHING = MatchCounts()


def reader(files: Mapping[str, bytes]) -> Reader:
    """Return a reader of files by path."""

    def read(path: str) -> bytes:
        if path not in files:
            raise FileNotFoundError(path)
        return files[path]

    return read


def official(language: Language, path: str, original: bytes, predicted: bytes) -> MatchCounts:
    """Return the exact counts of one build file."""
    found = official_comparison(language, [path], reader({path: original}), reader({path: predicted}))
    assert found is not None
    return found.exact


def test_a_missing_prediction_is_skipped() -> None:
    """The published script goes on to the next instance: nothing is counted."""
    assert official_comparison("rust", ["Cargo.toml"], reader({"Cargo.toml": b""}), None) is None


def test_one_malformed_file_zeroes_every_file() -> None:
    """A prediction with one file that cannot be read counts as empty in all its files."""
    original = {"a/package.json": b'{"dependencies": {"x": "1"}}', "package.json": b'{"dependencies": {"y": "1"}}'}
    predicted = {**original, "package.json": b'{"dependencies": {"y": "1",}}'}
    found = official_comparison("javascript", list(original), reader(original), reader(predicted))
    assert found is not None
    assert found.exact == MatchCounts(false_negatives=2)


def test_one_invalid_requirement_zeroes_the_file() -> None:
    """A single requirement that is none makes all others count as missing."""
    original = b'[project]\ndependencies = ["a", "b"]\n'
    predicted = b'[project]\ndependencies = ["a", "b", "c !"]\n'
    assert official("python", "pyproject.toml", original, predicted) == MatchCounts(false_negatives=2)


def test_poetry_hides_pep_621() -> None:
    """With any [tool.poetry] the dependencies of [project] are not seen."""
    data = b'[project]\ndependencies = ["a"]\n[tool.poetry]\npackages = []\n'
    assert official("python", "pyproject.toml", data, data) == NOTHING


def test_poetry_loses_all_but_name_and_version() -> None:
    """Extras, markers, git and optional make no difference; ranges are compared by their meaning."""
    original = (
        b'[tool.poetry.dependencies]\npython = "^3.8"\na = {version = "^1.2", extras = ["x"], optional = true}\n'
    )
    predicted = b'[tool.poetry.dependencies]\na = ">=1.2,<2.0"\n'
    assert official("python", "pyproject.toml", original, predicted) == RIGHT
    git = b'[tool.poetry.dependencies]\na = {git = "https://example.org/a"}\n'
    assert official("python", "pyproject.toml", git, b'[tool.poetry.dependencies]\na = "*"\n') == RIGHT


def test_pipfile_cannot_be_scored() -> None:
    """The published parser raises on a Pipfile, so that the instance has no official score."""
    with pytest.raises(PublishedFailureError, match="unsupported file: Pipfile"):
        official("python", "Pipfile", b"", b"")
    assert issubclass(PublishedFailureError, TaskError)


def test_what_the_other_parsers_refuse_counts_as_empty() -> None:
    """Malformed XML, TOML and Python in a prediction zero it, as malformed JSON does."""
    project = csharp(b'<PackageReference Include="A"/>')
    assert official("csharp", "A.csproj", project, b"<Project>") == MatchCounts(false_negatives=1)
    assert official("rust", "Cargo.toml", b'[dependencies]\na = "1"', b"[dependencies") == MatchCounts(
        false_negatives=1
    )
    assert official(
        "python", "setup.py", b'setup(install_requires=["a"])', b"setup(install_requires=R"
    ) == MatchCounts(false_negatives=1)


def test_mixed_arrays_fail() -> None:
    """An array of several types, which TOML allows, makes the whole prediction count as empty."""
    original = b'[project]\ndependencies = ["a"]\n'
    predicted = original + b'[tool.x]\nlist = ["a", {b = 1}]\n'
    assert official("python", "pyproject.toml", original, predicted) == MatchCounts(false_negatives=1)


def test_only_the_first_python_file_is_read() -> None:
    """With several Python build files the published code stops on its own check."""
    files = reader({"requirements.txt": b"a\n", "setup.py": b""})
    with pytest.raises(PublishedFailureError, match="only the first"):
        official_comparison("python", ["requirements.txt", "setup.py"], files, files)


def test_groups_and_optional_dependencies_are_not_seen() -> None:
    """Extras, PEP 735 groups and Poetry groups count for nothing."""
    original = b'[project]\ndependencies = ["a"]\n[project.optional-dependencies]\nx = ["b"]\n'
    predicted = b'[project]\ndependencies = ["a"]\n[dependency-groups]\ndev = ["c"]\n'
    assert official("python", "pyproject.toml", original, predicted) == RIGHT


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        (b'setup(install_requires=["a"])', True),
        (b'R = ["a"]\nS = R\nsetup(install_requires=S)', True),
        (b'setup(install_requires=["a"] + more)', False),
        (b'setup(install_requires=open("r").read().split())', False),
        (b'setup(**{"install_requires": ["a"]})', False),
        (b'setup(install_requires=["a", *more])', True),
    ],
)
def test_setup_py_is_a_literal_or_one_name(code: bytes, seen: bool) -> None:
    """Only a list literal, or a name that got one, is understood; everything else is an empty list."""
    expected = b'setup(install_requires=["a"])'
    assert official("python", "setup.py", expected, code) == (RIGHT if seen else MatchCounts(false_negatives=1))


def test_setup_cfg_does_not_follow_files() -> None:
    """`file:` is no requirement, and lines that are none are dropped."""
    original = b"[options]\ninstall_requires =\n    a>=1\n"
    assert official(
        "python", "setup.cfg", original, b"[options]\ninstall_requires = file: r.txt\n"
    ) == MatchCounts(false_negatives=1)


def test_requirements_follow_includes_and_drop_the_rest() -> None:
    """Included files and constraints count alike; options, paths and URLs are dropped."""
    files = {
        "r/base.txt": b"a==1 \\\n  --hash=sha256:00\n-r more.txt\n-e .\n./local\n# b\n--no-index\n",
        "r/more.txt": b"c ; python_version > '3'  # c\n-r base.txt\n",
    }
    found = official_comparison(
        "python", ["r/base.txt"], reader(files), reader({"r/base.txt": b'A == 1\nc; python_version>"3"\n'})
    )
    assert found is not None
    assert found.exact == MatchCounts(true_positives=2)


def test_rust_sees_one_table_only() -> None:
    """Development, build and target dependencies count for nothing."""
    original = (
        b'[dependencies]\na = "1"\n[dev-dependencies]\nb = "1"\n[target."cfg(unix)".dependencies]\nc = "1"\n'
    )
    assert official("rust", "Cargo.toml", original, b'[dependencies]\na = "1"\n') == RIGHT


def test_equal_rust_dependencies_need_not_compare_equal() -> None:
    """Two that are equal by the published rule count as different when any key or spelling differs."""
    original = b'[dependencies]\nserde_json = { version = "1", features = ["a"] }\n'
    for predicted in (
        b'[dependencies]\nserde-json = { version = "1", features = ["a"] }\n',
        b'[dependencies]\nserde_json = { version = "1", features = ["a"], path = "x" }\n',
    ):
        assert official("rust", "Cargo.toml", original, predicted) == WRONG


def test_equal_javascript_dependencies_need_not_compare_equal() -> None:
    """Names that fold to the same count as different in `exact` and as the same in `name_only`."""
    files = [b'{"dependencies": {"%s": "1"}}' % name for name in (b"a-b", b"A_b")]
    found = official_comparison(
        "javascript", ["p.json"], reader({"p.json": files[0]}), reader({"p.json": files[1]})
    )
    assert found is not None
    assert (found.exact, found.name_only) == (WRONG, RIGHT)


def test_javascript_sees_dependencies_only() -> None:
    """Development and peer dependencies count for nothing; a BOM fails the prediction."""
    original = b'{"dependencies": {"a": "1"}, "devDependencies": {"b": "1"}}'
    assert official("javascript", "package.json", original, b'{"dependencies": {"a": "1"}}') == RIGHT
    bom = b"\xef\xbb\xbf" + original
    assert official("javascript", "package.json", original, bom) == MatchCounts(false_negatives=1)


def csharp(items: bytes) -> bytes:
    """Return a project with these items."""
    return b"<Project><ItemGroup>" + items + b"</ItemGroup></Project>"


def test_csharp_ignores_version_children() -> None:
    """A version that is a child element is no version, so that it differs from the same as an attribute."""
    attribute = csharp(b'<PackageReference Include="A" Version="1"/>')
    child = csharp(b'<PackageReference Include="A"><Version>1</Version></PackageReference>')
    bare = csharp(b'<PackageReference Include="A"/>')
    assert official("csharp", "A.csproj", attribute, child) == WRONG
    assert official("csharp", "A.csproj", bare, child) == RIGHT


def test_csharp_ignores_central_versions() -> None:
    """What Directory.Packages.props says is not seen, even as a build file."""
    data = csharp(b'<PackageVersion Include="A" Version="1"/>')
    assert official("csharp", "Directory.Packages.props", data, data) == NOTHING


def test_csharp_separators_and_cases_differ() -> None:
    """`..\\x` is not `../x`, and a package in another case is another package."""
    one = csharp(b'<ProjectReference Include="..\\x.csproj"/>')
    two = csharp(b'<ProjectReference Include="../x.csproj"/>')
    assert official("csharp", "A.csproj", one, two) == WRONG
    one, two = csharp(b'<PackageReference Include="A"/>'), csharp(b'<PackageReference Include="a"/>')
    assert official("csharp", "A.csproj", one, two) == WRONG


def test_csharp_counts_updates_as_references() -> None:
    """`Update` is taken for a reference; `Remove` and comments are not."""
    data = csharp(
        b'<PackageReference Update="A"/><PackageReference Remove="B"/><!-- <PackageReference Include="C"/> -->'
    )
    assert official("csharp", "A.csproj", data, data) == RIGHT


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b"--allow-external b", MatchCounts(false_negatives=1)),
        (b"-x b", MatchCounts(false_negatives=1)),
        (b"--index-url b", MatchCounts(true_positives=1)),
        (b"-i b", MatchCounts(true_positives=1)),
    ],
)
def test_an_unknown_option_zeroes_a_requirements_file(line: bytes, found: MatchCounts) -> None:
    """pip stops at an option that it does not know, and the published code with it."""
    assert official("python", "requirements.txt", b"a\n", b"a\n" + line + b"\n") == found
