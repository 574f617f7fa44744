"""Every form of every format: what is read of it, and each byte that edits leave.

`python -m tests.languages.test_golden` writes the files in golden/ anew: read what changed, for users will see it.
"""

import difflib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.languages.formats import FORMATS, format_of
from groundup.manifests.records import Dependency, DependencyKind
from tests.languages.csharp import test_msbuild, test_nuget
from tests.languages.javascript import test_package_json, test_pnpm_workspace
from tests.languages.python import test_other_formats, test_pyproject, test_requirements_txt
from tests.languages.rust import test_cargo_toml

GOLDEN = Path(__file__).parent / "golden"
LAYOUTS: dict[str, list[str]] = json.loads(Path(__file__).with_name("layouts.json").read_text(encoding="utf-8"))
SETUP_PY = b"""\
from setuptools import setup

EXTRAS = {
    'dev': [
        'ruff',  # lint
        'black',
    ],
    'io:python_version<"3"': ['enum34'],
}
EXTRAS['all'] = ['x[y]>=1']
if OLD:
    EXTRAS['all'].append("six")

setup(
    name='x',
    setup_requires="setuptools_scm",
    install_requires=[
        # the web
        'requests>=2; python_version < "3.9"',
        "click", 'mine @ https://example.org/mine.zip',
    ] + open("more.txt").read().split(),
    tests_require=['pytest'],
    extras_require=EXTRAS,
)
"""
FILES = {
    "pyproject.toml": test_pyproject.STANDARD + b"\n" + test_pyproject.TOOLS.replace(b"[project]", b"[tool.x]"),
    "poetry/pyproject.toml": test_pyproject.POETRY,
    "pixi/pyproject.toml": test_pyproject.PIXI,
    "setup.cfg": test_other_formats.SETUP_CFG,
    "setup.py": SETUP_PY,
    "requirements-dev.txt": test_requirements_txt.FULL,
    "Pipfile": test_other_formats.PIPFILE,
    "environment.yml": test_other_formats.ENVIRONMENT,
    "Cargo.toml": test_cargo_toml.EVERYTHING,
    "package.json": test_package_json.EVERYTHING,
    "pnpm-workspace.yaml": test_pnpm_workspace.EVERYTHING,
    "A.csproj": test_msbuild.EVERYTHING,
    "packages.config": test_nuget.CONFIG.replace(b"\r\n", b"\n"),
    "A.nuspec": test_nuget.SPEC,
}


def told(path: str, data: bytes) -> str:
    """Return what is read of a file, and the file masked, with half of its declarations, and with all again."""
    known = format_of(path)
    assert known is not None
    manifest = known.read(data, path)
    every = manifest.dependencies
    halved = known.write(data, every[::2], path)
    notes = [f"{one.topic}:{one.line} {one.kind} {one.group or '-'} {one.message}" for one in manifest.notes]
    parts = {
        "declared": "\n".join([*map(line, every), *notes]),
        "masked": known.mask(data, path).decode(),
        "every second one taken away": halved.decode(),
        "and put back": known.write(halved, every, path).decode(),
    }
    return "".join(f"##### {name}\n{text.rstrip()}\n" for name, text in parts.items())


def line(one: Dependency) -> str:
    """Return all fields of a declaration that say something."""
    assert one.location is not None
    said = [f"{name}={value}" for name in ("origin", "alias", "marker") if (value := getattr(one, name))]
    said += [f"extras={','.join(one.extras)}"] * bool(one.extras)
    said += [f"{name}={value!r}" for name, value in one.details]
    name = f"{one.name} ({one.normalised})" if one.name != one.normalised else one.name
    where = f"{one.location.line}: {one.kind}{f'/{one.group}' if one.group else ''} {one.source}"
    return " ".join([where, name, one.constraint or "-", *said])


def told_with_edits(path: str, text: str) -> Iterator[str]:
    """Yield what is read of one file with where it stands, and what each edit changes."""
    known = format_of(path)
    assert known is not None
    data = text.encode("utf-8", "surrogateescape")
    try:
        manifest = known.read(data, path)
    except UsageError as error:
        yield f"refused: {error}"
        return
    every = manifest.dependencies
    for one in every:
        assert one.location is not None
        values = [one.kind, one.group, one.marker, one.source, one.name, one.constraint, one.origin, *one.details]
        yield f"{one.location.start}-{one.location.end} {one.text!r} {[str(value) for value in values if value]}"
    for kind in (None, DependencyKind.RUNTIME, DependencyKind.DEV, DependencyKind.PEER):
        yield from changed(
            f"masked {kind}", data, partial(known.mask, data, path, None if kind is None else {kind})
        )
    like = every[-1] if every else Dependency(language=known.language, name="x", normalised="x")
    new = [like.but(name="n1", normalised="n1", details=(), alias=""), like.but(name="né", normalised="né")]
    halves = [(), every[:1], every[1:], every[:-1], every[::2], every]
    for kept in [half for i, half in enumerate(halves) if half not in halves[:i]]:
        for added in ([], new, new[1:] * 2):
            title = f"{[one.name for one in kept]} and {[one.name for one in added]}"
            yield from changed(title, data, partial(known.write, data, [*kept, *added], path))
    spelt = [one.but(name=one.name.upper(), location=None, text="") for one in every]
    yield from changed("in capitals", data, partial(known.write, data, spelt, path))
    for only in (DependencyKind.RUNTIME, DependencyKind.DEV):
        title = f"{only} of {[one.name for one in every[1:]]} and {[new[0].name]}"
        yield from changed(title, data, partial(known.write, data, [*every[1:], new[0]], path, {only}))


def changed(title: str, before: bytes, edit: Callable[[], bytes]) -> Iterator[str]:
    """Yield the lines that an edit takes away and those that it puts there; or why there is none."""
    try:
        after = edit()
    except UsageError as error:
        yield f"{title}: {error}"
        return
    old, new = (text.decode().splitlines(keepends=True) for text in (before, after))
    changes = [repr(one)[1:-1] for one in difflib.ndiff(old, new) if one[0] in "+-"]
    yield f"{title}: {' '.join(changes) or 'the same'}"


def all_edits_told(path: str, texts: Sequence[str]) -> str:
    """Return what is told of several files of one format."""
    parts = (f"##### {text!r}\n" + "".join(f"{one}\n" for one in told_with_edits(path, text)) for text in texts)
    return "".join(parts)


@pytest.mark.parametrize("path", FILES)
def test_every_form_is_read_and_edited_as_ever(path: str) -> None:
    """All fields of all declarations and notes, and files to the byte."""
    assert told(path, FILES[path]) == (GOLDEN / f"{path.replace('/', '-')}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", LAYOUTS)
def test_every_layout_is_read_and_edited_as_ever(path: str) -> None:
    """With the first, the last, every second or no declaration left, and none, two, or one twice put to them."""
    assert all_edits_told(path, LAYOUTS[path]) == (GOLDEN / f"layouts-{path}.txt").read_text(encoding="utf-8")


def test_every_format_has_a_golden_file() -> None:
    """A new one, too."""
    assert {one.name for path in FILES if (one := format_of(path))} == set(FORMATS)


if __name__ == "__main__":
    for path, data in FILES.items():
        (GOLDEN / f"{path.replace('/', '-')}.txt").write_text(told(path, data), encoding="utf-8")
    for path, texts in LAYOUTS.items():
        (GOLDEN / f"layouts-{path}.txt").write_text(all_edits_told(path, texts), encoding="utf-8")
