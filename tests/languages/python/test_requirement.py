"""One requirement to its parts and back, lines of pip's files, and what a file's name shows."""

from pathlib import PurePosixPath

import pytest

from groundup.languages.python.requirement import (
    RequirementsTxt,
    _requirement,
    key_of_file,
    logical_lines,
    parse_requirement,
    render_checked,
    render_line,
    render_requirement,
)
from groundup.manifests.editing import Text
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, ManifestError


@pytest.mark.parametrize(
    ("text", "parts", "written"),
    [
        ("a", "a registry", "a"),
        (
            "A.b [x, y] >=1 , <2 ; python_version<'3'",
            "A.b registry constraint=>=1 , <2 marker=python_version<'3' extras=x,y",
            "A.b[x,y]>=1 , <2; python_version<'3'",
        ),
        ("a (>=1)", "a registry constraint=>=1", "a>=1"),
        (
            "a>=1;python_version<'3'",
            "a registry constraint=>=1 marker=python_version<'3'",
            "a>=1; python_version<'3'",
        ),
        (
            "a @ https://h/b-1.0.tar.gz ; x",
            "a url marker=x origin=https://h/b-1.0.tar.gz",
            "a @ https://h/b-1.0.tar.gz ; x",
        ),
        (
            "a@git+https://h/r.git@v1#subdirectory=p",
            "a git origin=https://h/r.git rev=v1 subdirectory=p",
            "a @ git+https://h/r.git@v1#subdirectory=p",
        ),
        (
            "git+ssh://git@h/r.git@v1#egg=b[x]",
            "b git origin=ssh://git@h/r.git extras=x rev=v1",
            "b[x] @ git+ssh://git@h/r.git@v1",
        ),
        ("git://h/r", " git origin=git://h/r", "git://h/r"),
        ("hg+https://h/r@1#egg=b", "b url origin=https://h/r rev=1 vcs=hg", "b @ hg+https://h/r@1"),
        ("./a", " path origin=./a", "./a"),
        ("./a[x] ; m", " path marker=m origin=./a extras=x", "./a[x] ; m"),
        ("~/a", " path origin=~/a", "~/a"),
        ("C:\\a", " path origin=C:\\a", "C:\\a"),
        ("/a/b-1.0-py3-none-any.whl", "b path origin=/a/b-1.0-py3-none-any.whl", "b @ /a/b-1.0-py3-none-any.whl"),
        ("b-1.0.zip", "b path origin=b-1.0.zip", "b @ b-1.0.zip"),
        (
            "https://h/b-1.0-py3-none-any.whl?x=1",
            "b url origin=https://h/b-1.0-py3-none-any.whl?x=1",
            "b @ https://h/b-1.0-py3-none-any.whl?x=1",
        ),
        ("https://h/bad.whl", " url origin=https://h/bad.whl", "https://h/bad.whl"),
        ("file:///a/b", " path origin=file:///a/b", "file:///a/b"),
        (
            "https://h/x#sha256=1&egg=n&subdirectory=d",
            "n url origin=https://h/x sha256=1 subdirectory=d",
            "n @ https://h/x#sha256=1&subdirectory=d",
        ),
        ("a==", "a registry constraint=== invalid=not PEP 508", "a=="),
        ("a b", "a registry constraint=b invalid=not PEP 508", "a b"),
        ("a[", "a registry constraint=[ invalid=not PEP 508", "a["),
        (";x", " path origin=;x invalid=not PEP 508", ";x"),
        ("", " path invalid=not PEP 508", ""),
    ],
)
def test_any_text_has_parts(text: str, parts: str, written: str) -> None:
    """Names, addresses and paths; what is not PEP 508 says so, and is written as it was."""
    found = parse_requirement(text)
    told = [found.name, str(found.source)]
    told += [f"{name}={value}" for name in ("constraint", "marker", "origin") if (value := getattr(found, name))]
    told += [f"extras={','.join(found.extras)}"] * bool(found.extras)
    told += [f"{name}={value}" for name, value in found.details]
    assert " ".join(told) == parts
    assert render_requirement(found.dependency(DependencyKind.RUNTIME)) == written


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("-e ./a", "-e ./a"),
        ("--editable=git+https://h/r.git#egg=b", "-e git+https://h/r.git#egg=b"),
        ("-e 'git+https://h/r@v#egg=b&subdirectory=x'", "-e git+https://h/r@v#subdirectory=x&egg=b"),
        ("a==1 --hash=sha256:1  --hash=sha256:2", "a==1 --hash=sha256:1 --hash=sha256:2"),
        ("a --global-option=x", "a --global-option=x"),
        ("./b-1.0.zip[x]", "./b-1.0.zip[x]"),
    ],
)
def test_a_line_is_written_as_pip_reads_it(line: str, written: str) -> None:
    """Editable ones by their place, options behind them."""
    found = _requirement(line)
    assert found is not None
    assert render_line(found.dependency(DependencyKind.RUNTIME)) == written


@pytest.mark.parametrize("line", ["-e .", "-r more.txt", ".[dev]", ".", "--no-binary a", "-i https://a.test"])
def test_options_and_the_project_itself_are_no_requirements(line: str) -> None:
    """They stay where they are."""
    assert _requirement(line) is None


def test_what_pep_508_cannot_say_is_refused() -> None:
    """With what to do."""
    source = Text.decode(b"", "setup.cfg")
    for fields, says in (
        (
            {"source": DependencySource.WORKSPACE},
            "a comes from a workspace, which PEP 508 cannot express; add it by hand",
        ),
        (
            {"constraint": "^1"},
            "'a^1' is not valid PEP 508; give a constraint like '>=1.2,<2' and a full URL",
        ),
    ):
        dependency = Dependency(language="python", name="a", normalised="a").but(**fields)
        with pytest.raises(ManifestError) as caught:
            render_checked(dependency, source)
        assert str(caught.value) == f"setup.cfg: {says}"
    kept = Dependency(language="python", name="a", normalised="a", constraint="^1", details=(("invalid", "x"),))
    assert render_checked(kept, source) == "a^1"


@pytest.mark.parametrize(
    ("path", "kind", "group"),
    [
        ("requirements.txt", "runtime", ""),
        ("requirements/base.txt", "runtime", ""),
        ("requirements/dev.txt", "dev", "dev"),
        ("dev/requirements.txt", "dev", "dev"),
        ("docs/requirements.txt", "group", "docs"),
        ("tests/req.in", "test", "tests"),
        ("constraints.txt", "constraint", "constraints"),
        ("requirements-docs.txt", "group", "requirements-docs"),
        ("requirements_test.txt", "test", "requirements_test"),
        ("test-requirements.txt", "test", "test-requirements"),
        ("requirements-dev-test.txt", "test", "requirements-dev-test"),
        ("src/requirements.txt", "runtime", ""),
        ("ci/reqs.pip", "group", "ci"),
        ("requirements.prod.txt", "runtime", ""),
    ],
)
def test_a_file_s_name_and_folders_show_what_it_is_for(path: str, kind: str, group: str) -> None:
    """The name first; tests before development, and both before what stands beside a package."""
    key = key_of_file(PurePosixPath(path))
    assert (key.kind, key.group) == (kind, group)
    assert RequirementsTxt().recognises(PurePosixPath(path))


def test_files_of_requirements_are_known_by_name() -> None:
    """Or by their folder; not what an installer made."""
    known = ("requires.txt", "reqs/any.txt", "my_requirements.txt", "x/requirements/y/z.txt")
    others = ("x/y.egg-info/requires.txt", "notes.txt", "requirements.md", "required.txt")
    assert [RequirementsTxt().recognises(PurePosixPath(path)) for path in (*known, *others)] == [True] * 4 + [
        False
    ] * 4


def test_lines_are_joined_as_pip_joins_them() -> None:
    """At backslashes, but not behind a comment; a comment ends what was begun."""
    text = "a\\\n  ==1 # c\n# only\n\nb # x \\\nc \\\n# d\ne\\"
    found = [(line.text, text[slice(*line.span)]) for line in logical_lines(Text.decode(text.encode(), "x"))]
    assert found == [("a  ==1", "a\\\n  ==1 # c\n"), ("b", "b # x \\\n"), ("c", "c \\\n# d\n"), ("e", "e\\")]
