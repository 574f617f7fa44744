"""setup.py: what can be said without running it, what cannot, and what a mask leaves."""

import ast
import sys

import pytest

from groundup.domain.errors import MissingExtraError
from groundup.languages.python.setup_py import SetupPy
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, ManifestError
from tests.manifests.span_laws import assert_laws

FORMAT = SetupPy()
PATH = "setup.py"

CASES = {
    "literal": "setup(install_requires=['a>=1', 'b'])",
    "name": "reqs = ['a', 'b']\nsetup(install_requires=reqs)",
    "sum": "base = ['a']\nsetup(install_requires=base + ['b'])",
    "starred": "base = ('a',)\nsetup(install_requires=[*base, 'b'])",
    "appended": "reqs = ['a']\nif X:\n    reqs.append('b')\nsetup(install_requires=reqs)",
    "extended": "reqs = ['a']\nreqs.extend(['b'])\nsetup(install_requires=reqs)",
    "augmented": "reqs = ['a']\nreqs += ['b']\nsetup(install_requires=reqs)",
    "conditional": "setup(install_requires=['a'] if X else ['b'])",
    "function": "def f():\n    r = ['a']\n    r.append('b')\n    return r\nsetup(install_requires=f())",
    "keywords": "kw = dict(install_requires=['a', 'b'])\nsetup(**kw)",
    "spread": "kw = {}\nkw['install_requires'] = ['a', 'b']\nsetup(name='x', **kw)",
    "text": 'setup(install_requires="""\n  a\n  b\n""")',
    "words": "setup(install_requires='a b'.split())",
    "module": "import setuptools\nsetuptools.setup(install_requires=list({'a', 'b'}))",
    "tuple": "reqs = 'a', 'b'\nsetup(install_requires=reqs)",
    "concatenated": "setup(install_requires=['a' '', ('b')])",
    "picked": "_all = ['a', 'b', 'c']\nd = {x: x for x in _all}\nsetup(install_requires=[d['a'], d['b']])",
}


def names(data: bytes, kind: DependencyKind = DependencyKind.RUNTIME) -> list[str]:
    """Return the names that a file declares of one kind."""
    return [item.name for item in FORMAT.read(data, PATH).dependencies if item.kind is kind]


@pytest.mark.parametrize("code", CASES.values(), ids=CASES.keys())
def test_values_are_followed(code: str) -> None:
    """However the list is put together from literals, its two requirements are read, and the laws hold."""
    data = f"from setuptools import setup\n{code}\n".encode()
    assert sorted(names(data)) == ["a", "b"]
    assert FORMAT.read(data, PATH).complete
    masked = FORMAT.mask(data, PATH)
    ast.parse(masked)
    assert FORMAT.read(masked, PATH).dependencies == ()
    assert FORMAT.write(data, FORMAT.read(data, PATH).dependencies, PATH) == data


def test_laws_with_comments_and_extras() -> None:
    """The laws hold on a file with comments, markers, extras, tests and a joined string."""
    data = (
        b"from setuptools import setup\n\nEXTRAS = {\n"
        b"    'dev': [\n        'ruff',  # lint\n        'black',\n    ],\n"
        b"    'io:python_version<\"3\"': ['enum34'],\n}\nEXTRAS['all'] = ['x[y]>=1']\n\nsetup(\n    name='x',\n"
        b"    install_requires=[\n        # the web\n        'requests>=2; python_version < \"3.9\"',\n"
        b"        \"click\",\n    ],\n    tests_require=['pytest'],\n    extras_require=EXTRAS,\n)\n"
    )
    assert_laws(FORMAT, data, PATH, most_removed=20)
    assert_laws(FORMAT, data.replace(b"\n", b"\r\n"), PATH)
    found = {(item.kind, item.group, item.name): item for item in FORMAT.read(data, PATH).dependencies}
    assert found[DependencyKind.OPTIONAL, "io", "enum34"].marker == 'python_version<"3"'
    assert found[DependencyKind.OPTIONAL, "all", "x"].extras == ("y",)
    assert found[DependencyKind.TEST, "", "pytest"].location is not None
    masked = FORMAT.mask(data, PATH)
    assert b"the web" not in masked
    assert b"lint" not in masked
    assert masked.startswith(b"from setuptools import setup\n\nEXTRAS = {\n    'dev': [],\n")


@pytest.mark.parametrize(
    ("code", "files"),
    [
        ("setup(install_requires=open('requirements.txt').read().splitlines())", ["requirements.txt"]),
        ("with open('reqs/base.txt') as f:\n    r = f.readlines()\nsetup(install_requires=r)", ["reqs/base.txt"]),
        ("def f(n):\n    return open(f'req/{n}.txt')\nsetup(install_requires=f('main'))", ["req/main.txt"]),
        ("setup(install_requires=[open('r.txt').read()])", ["r.txt"]),
        (
            "r = [x for x in open(Path('requirements') / 'a.txt')]\nsetup(install_requires=r)",
            ["requirements/a.txt"],
        ),
    ],
)
def test_files_are_pointed_to(code: str, files: list[str]) -> None:
    """A list that is read from a file is a reference to it, not a guess, and not something that cannot be said."""
    manifest = FORMAT.read(code.encode(), PATH)
    assert [note.target for note in manifest.notes if note.topic == "reference"] == files
    assert manifest.complete
    assert FORMAT.mask(code.encode(), PATH) == code.encode()


@pytest.mark.parametrize(
    "code",
    [
        "setup(install_requires=compute())",
        "from x import reqs\nsetup(install_requires=reqs)",
        "setup(install_requires=[NAME])",
        "setup(extras_require={name: [] for name in X})",
    ],
)
def test_what_only_running_would_tell_is_said(code: str) -> None:
    """A computed value makes the manifest incomplete, with the line; nothing is invented."""
    manifest = FORMAT.read(code.encode(), PATH)
    assert not manifest.dependencies
    assert not manifest.complete
    assert all(note.line for note in manifest.notes)


def test_an_unreadable_expression_with_names_is_emptied() -> None:
    """A mask empties an expression that cannot be read when its literals could tell the answer."""
    masked = FORMAT.mask(b"setup(install_requires=pick(['numpy'], 3))\n", PATH)
    assert masked == b"setup(install_requires=[])\n"


def test_formatted_requirements_keep_their_names() -> None:
    """A requirement whose version is computed still has a name, and a detail that says it is not literal."""
    manifest = FORMAT.read(b"setup(install_requires=[f'a=={V}', 'b==%s' % V, 'c>=' + V])", PATH)
    assert [item.name for item in manifest.dependencies] == ["a", "b", "c"]
    assert all(dict(item.details) == {"invalid": "not PEP 508"} for item in manifest.dependencies)


def test_build_requirements_stay() -> None:
    """setup_requires is of kind build, and a mask leaves it."""
    data = b"setup(setup_requires=['setuptools_scm'], install_requires=['a'])\n"
    assert names(data, DependencyKind.BUILD) == ["setuptools_scm"]
    assert FORMAT.mask(data, PATH) == b"setup(setup_requires=['setuptools_scm'], install_requires=[])\n"


@pytest.mark.parametrize(
    ("code", "is_said"),
    [
        ("EXTRAS = {'a': ['b']}", True),
        ("EXTRAS = dict(a=['b'])", True),
        ("EXTRAS = {name: ['b']}", False),
        ("EXTRAS = {**others}", False),
        ("EXTRAS = {}\nEXTRAS = {name: ['b']}", False),
        ("from elsewhere import EXTRAS", False),
    ],
)
def test_extras_that_only_running_it_would_tell_are_noted(code: str, is_said: bool) -> None:
    """What the file itself says of them is read."""
    notes = FORMAT.read(f"{code}\nsetup(extras_require=EXTRAS)\n".encode(), PATH).notes
    assert any(note.topic == "cannot-say" for note in notes) is not is_said


def test_new_arguments_and_extras() -> None:
    """What has no argument yet gets one; a new extra joins the dictionary."""
    data = b"from setuptools import setup\nsetup(\n    name='x',\n    extras_require={'a': ['b']}\n)\n"
    new = [
        *FORMAT.read(data, PATH).dependencies,
        Dependency(language="python", name="click", normalised="click"),
        Dependency(language="python", name="rich", normalised="rich", kind=DependencyKind.OPTIONAL, group="cli"),
    ]
    written = FORMAT.write(data, new, PATH)
    ast.parse(written)
    assert {item.identity for item in FORMAT.read(written, PATH).dependencies} == {item.identity for item in new}


@pytest.mark.parametrize("end", ["", ","])
def test_a_new_argument_stands_behind_the_last(end: str) -> None:
    """With one comma between them, whether or not the file ends its lists with commas."""
    data = f"setup(\n  name='x'{end}\n)\n".encode()
    new = [Dependency(language="python", name="click", normalised="click")]
    assert (
        FORMAT.write(data, new, PATH) == b"setup(\n  name='x',\n  install_requires=[\n      \"click\",\n  ],\n)\n"
    )


def test_other_encodings_and_nothing_to_say() -> None:
    """Bytes that are not UTF-8 survive, and a file without setup() declares nothing."""
    data = "# Größe: €\nsetup(author='Müller', install_requires=['a'])  # é\n".encode("latin-1", "replace")
    assert names(data) == ["a"]
    assert FORMAT.mask(data, PATH) == data.replace(b"['a']", b"[]")
    assert FORMAT.read(b"print('hello')\n", PATH).dependencies == ()


def test_malformed() -> None:
    """A file that is not Python 3 gives one error that names file and line."""
    with pytest.raises(ManifestError, match=r"a/setup\.py:2: is not valid Python") as caught:
        FORMAT.read(b"x = 1\nprint 'setup'\n", "a/setup.py")
    assert caught.value.line == 2


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 5000 + "]" * 5000,
        "x = " + " + ".join(["['a']"] * 1500),
        "x = " + "-" * 20_000 + "1",
        "x = a" + ".b" * 20_000,
        "x = " + "lambda: " * 20_000 + "1",
        "if a: pass\n" + "elif a: pass\n" * 20_000,
        "import a" + ".b" * 20_000,
        "print 'two'\nif a: pass\n" + "elif a: pass\n" * 20_000,
        "print 'two'\nx = " + "[" * 5000 + "]" * 5000,
    ],
    ids=[
        "brackets",
        "sum",
        "signs",
        "attributes",
        "lambdas",
        "elif",
        "import",
        "elif of Python 2",
        "brackets of Python 2",
    ],
)
def test_code_that_is_too_deep_does_not_end_the_reader(text: str) -> None:
    """Deep code is refused with an error; parsing it would overflow the stack and end the whole process."""
    with pytest.raises(ManifestError, match="nested too deeply"):
        FORMAT.read(f"{text}\nsetup(install_requires=['a'])\n".encode(), PATH)


def test_direct_references() -> None:
    """A git requirement keeps its address and revision."""
    (found,) = FORMAT.read(b"setup(install_requires=['a @ git+https://example.org/a@v1'])", PATH).dependencies
    assert (found.source, found.origin, dict(found.details)) == (
        DependencySource.GIT,
        "https://example.org/a",
        {"rev": "v1"},
    )


@pytest.mark.parametrize("value", ["x + x", "[x, x]", "x.replace('a', 'aa')", "('a' if x else x)"])
def test_names_bound_to_each_other_are_not_followed_for_ever(value: str) -> None:
    """Sixteen lines took twenty seconds, and each more a multiple of that."""
    text = f"from setuptools import setup\nx = 'a'\n{f'x = {value}{chr(10)}' * 500}setup(install_requires=[x])\n"
    with pytest.raises(ManifestError, match="in too many ways"):
        FORMAT.read(text.encode(), PATH)


def test_without_libcst_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without the extra says which one reads setup.py, instead of calling the file unreadable."""
    monkeypatch.setitem(sys.modules, "libcst", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'groundup\[dibench\]'"):
        names(b"from setuptools import setup\nsetup(install_requires=['a'])\n")
