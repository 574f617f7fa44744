"""All that is said of whole repositories: each dependency with its evidence and what decides it, in order.

`python -m tests.groundup_infer.test_golden` writes the files in golden/ anew: read what changed, for users see it.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup_infer import api
from groundup_infer.cli import infer
from groundup_infer.csharp_files import csharp_imports
from groundup_infer.csharp_projects import read_projects
from groundup_infer.inference import INFERERS
from groundup_infer.javascript_inference import javascript_imports
from groundup_infer.python_candidates import collect
from groundup_infer.python_imports import cython_imports, oldest_python, python_imports
from groundup_infer.python_inference import weights
from groundup_infer.python_layout import lay_out, projects_below
from groundup_infer.records import Inference, InferredDependency
from groundup_infer.rust import rust_imports
from tests.groundup_infer.test_csharp import SHOP
from tests.groundup_infer.test_python_inference import PACKAGE
from tests.groundup_infer.test_rust import CARGO
from tests.groundup_infer.trees import inferred, tree_of
from tests.suites.dibench.made import write_tree

GOLDEN = Path(__file__).parent / "golden"
REPOSITORIES = {
    "python": {
        **PACKAGE,
        "src/demo_kit/old.py": "import sys\nif sys.version_info < (3, 11):\n    import tomli\n"
        "else:\n    import tomllib\n",
        "src/demo_kit/system.py": "import sys\nif sys.platform == 'win32':\n    import win32api\n",
        "src/demo_kit/late.py": "def f():\n    import numpy as np\n    import importlib\n"
        "    importlib.import_module('scipy.io')\n"
        "try:\n    import lxml\nexcept ImportError as error:\n    raise RuntimeError('install lxml') from error\n",
        "src/demo_kit/cloud.py": "from google.cloud import storage\nimport made_up_thing\n"
        "if (n := 1):\n    pass\n",
        "examples/show.ipynb": '{"cells": [{"cell_type": "code", "source": "import matplotlib.pyplot as plt"}]}',
        "noxfile.py": "import nox\n",
    },
    "rust": {
        "Cargo.toml": '[workspace]\nmembers = ["a", "b"]\n',
        "a/Cargo.toml": CARGO,
        "a/src/lib.rs": "use other_one::x; use serde_json::Value;\nuse made_up_crate::y;\n"
        '#[cfg(feature = "z")] mod zipped;\n#[cfg(test)] mod checks;\n#[cfg(windows)] use winapi::um;\n',
        "a/src/zipped.rs": "use flate2::read;\n",
        "a/src/checks.rs": "use tempfile::tempdir;\n",
        "a/src/main.rs": '#[tokio::main]\nasync fn main() { mine::run(); clap::Command::new("x"); }\n',
        "a/tests/t.rs": "use assert_cmd::Command;\n",
        "a/examples/e.rs": "use env_logger::init;\n",
        "a/build.rs": "fn main() { cc::Build::new(); }\n",
        "b/Cargo.toml": '[package]\nname = "other-one"\n',
        "b/src/lib.rs": "",
    },
    "javascript": {
        "package.json": '{"name": "mine", "bin": "cli.js", "scripts": {"test": "mocha"}}',
        "tsconfig.json": '{"compilerOptions": {"paths": {"lib/*": ["src/*"]}}} // note',
        "src/index.ts": "import a from 'express'\nimport b from 'mine'\nimport c from 'lib/x'\n"
        "import fs from 'node:fs'\n",
        "src/x.ts": "try { require('bufferutil') } catch {}\nimport type { T } from 'typings'\n"
        "async function f() { await import('@scope/late/part') }\n",
        "src/App.vue": "<template><p>import</p></template>\n<script>\nimport v from 'vue'\n</script>\n",
        "src/style.scss": "@use '~bootstrap/scss/bootstrap';\n@import './own';\n",
        "cli.js": "#!/usr/bin/env node\nconst y = require('yargs/helpers')\n",
        "index.d.ts": "import type { E } from 'estree'\n",
        "test/a.test.js": "import t from 'vitest'\nvi.mock('mocked')\n",
        "rollup.config.js": "import r from 'rollup'\n",
    },
    "csharp": {
        **SHOP,
        ".editorconfig": "dotnet_diagnostic.MA0048.severity = none\n",
        ".github/workflows/ci.yml": 'run: dotnet test --collect:"XPlat Code Coverage"',
        "src/Shop.Data/Log.cs": "using Serilog;\nusing Made.Up.Things;\nusing System.Text.Json;\nclass L {}\n",
    },
}
FURTHER: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("further.json").read_text(encoding="utf-8")
)
"""By the name of the golden file, which begins with the language."""
WRITES = "GROUNDUP_WRITE_GOLDEN"
"""A variable under which tests write their records: `capsys` is theirs alone."""
SOURCES: dict[str, list[str]] = json.loads(Path(__file__).with_name("sources.json").read_text(encoding="utf-8"))
"""Small files by their ending."""
_TOLD = json.loads(Path(__file__).with_name("told.json").read_text(encoding="utf-8"))
PROJECTS: list[dict[str, str]] = _TOLD["projects"]
COMMANDS: dict[str, dict[str, str]] = _TOLD["commands"]
LAYOUTS: list[dict[str, str]] = _TOLD["layouts"]
FORMS: dict[str, dict[str, str]] = _TOLD["repositories"]


def told(found: Inference) -> str:
    """Return all that an inference says."""
    parts = [
        *_dependencies(found.dependencies),
        *(f"unknown: {name}" for name in found.unknown),
        *(f"local: {name}" for name in found.local),
        f"Python: {found.requires_python}, {found.files} files",
        *(f"cannot know: {sentence}" for sentence in found.cannot_know),
    ]
    for project in found.projects:
        parts += [f"project {project.path}", *_dependencies(project.dependencies)]
        parts += [
            f"  refers to {one.path} for {one.evidence.imported}: {one.evidence}" for one in project.references
        ]
    return "".join(f"{part}\n" for part in parts)


def _dependencies(found: Sequence[InferredDependency]) -> Iterator[str]:
    for one in found:
        sure = "" if one.confidence is None else f", {one.confidence:.2f}"
        guess = "" if one.known else ", guessed"
        more = f" {one.constraint} {one.marker}".rstrip()
        yield f"{one.kind}: {one.name}{more} as {', '.join(one.imported)}, {one.uses} times{sure}{guess}"
        yield from (f"  {evidence.imported} {evidence}" for evidence in one.evidence)


def laid_out(files: dict[str, str]) -> str:
    """Return where a Python repository keeps what, and all numbers that decide about a distribution."""
    found = collect(tree_of(files), weights().priors)
    layout = found.layout
    parts = [
        *(f"{layout.names.get(path, '-')} is {place}: {path}" for path, place in sorted(layout.places.items())),
        f"roots: {layout.roots}, siblings: {sorted(layout.siblings)}, loose: {sorted(layout.loose)}",
        f"folders: {sorted(layout.folders)}, namespaces: {sorted(layout.namespaces)}",
    ]
    for one in found.candidates:
        parts.append(f"{one.name}, {'known' if one.known else 'guessed'}")
        parts += [
            f"  {use.item.module} of {use.path}:{use.item.line} is {use.reach.name}, {use.depth} deep"
            for use in one.uses
        ]
        said = (f"{name}={value:.4g}" for name, value in sorted(one.features.items()) if value)
        parts.append(f"  {' '.join(said)}")
    return "".join(f"{part}\n" for part in parts)


def all_told(name: str) -> str:
    """Return all that is said of one of the further repositories."""
    language, files = name.partition("_")[0], FURTHER[name]
    return told(inferred(language, files)) + (laid_out(files) if language == "python" else "")


def imports_told(suffix: str) -> str:
    """Return all that is read of the small files with an ending."""
    return "".join(f"{source[:600]!r}\n  {_plain(_read(suffix, source.encode()))}\n" for source in SOURCES[suffix])


def _read(suffix: str, source: bytes) -> object:
    if suffix in (".py", ".pyx"):
        read = python_imports if suffix == ".py" else cython_imports
        return [*read(source), oldest_python([source])]
    if suffix in (".cs", ".fs", ".vb", ".razor"):
        return csharp_imports(source, suffix)
    return rust_imports(source) if suffix == ".rs" else javascript_imports(source, suffix)


def _plain(found: object) -> str:
    """Return *found* in a line, sets in their order."""
    if isinstance(found, set | frozenset):
        return f"{{{', '.join(sorted(map(_plain, found)))}}}"
    if isinstance(found, dict):
        return f"{{{', '.join(f'{name}: {_plain(one)}' for name, one in found.items())}}}"
    return f"({', '.join(map(_plain, found))})" if isinstance(found, list | tuple) else str(found)


@pytest.mark.parametrize("suffix", SOURCES)
def test_small_files_are_read_as_ever(suffix: str) -> None:
    """Each import with its line, and how it is reached; what is declared; and the oldest Python."""
    assert imports_told(suffix) == (GOLDEN / f"sources{suffix}.txt").read_text(encoding="utf-8")


def projects_told() -> str:
    """Return all that is read of projects of C# and the files above them."""
    said = []
    for files in PROJECTS:
        for one in read_projects({path: text.encode() for path, text in files.items()}):
            usings = sorted(one.implicit_usings)
            more = (one.folder, one.name, one.identifier, one.names, one.frameworks, one.is_program, one.is_modern)
            said.append(
                f"{_plain(one._asdict())}\n  {_plain(more)} {one.is_named_test} {len(usings)} {usings[:2]}\n"
            )
    return "".join(said)


def test_projects_of_csharp_are_read_as_ever() -> None:
    """SDKs, properties with what they refer to, usings, friends, and files from elsewhere."""
    assert projects_told() == (GOLDEN / "projects.txt").read_text(encoding="utf-8")


def layouts_told() -> str:
    """Return what project files of Python say, and what the tree around them is taken to install."""
    said = []
    for files in LAYOUTS:
        tree = tree_of(files)
        layout = lay_out(tree)
        below = {folder: sorted(one.roots) for folder, one in projects_below(tree).items()}
        places = sorted(f"{path} {place} {layout.names.get(path, '-')}" for path, place in layout.places.items())
        said.append(f"{[*files][:3]}\n  {_plain(layout.project)}\n  {_plain(places)}\n")
        more = (layout.roots, set(layout.siblings), set(layout.loose), set(layout.folders), set(layout.namespaces))
        said.append(f"  {_plain(more)} {_plain(below)}\n")
    return "".join(said)


def test_projects_of_python_are_laid_out_as_ever() -> None:
    """Names, scripts and packages of each kind of file, and which folders are installed, tests or tools."""
    assert layouts_told() == (GOLDEN / "layouts.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FORMS)
def test_repositories_of_many_forms_are_inferred_from_as_ever(name: str) -> None:
    """Renamed crates, editions, generations of test frameworks, aliases of modules, and files of each place."""
    assert told(inferred(name.partition("_")[0], FORMS[name])) == (GOLDEN / f"{name}.txt").read_text(
        encoding="utf-8"
    )


def command_told(name: str, root: Path, read: Callable[[], str]) -> str:
    """Return what the command says of a repository in *root*, then what it writes; *read* takes what was said."""
    write_tree(root, COMMANDS[name])
    said = []
    for flags in ("", "beside every", "write", "write every", ""):
        code = infer(root, write="write" in flags, beside="beside" in flags, every="every" in flags)
        said.append(f"##### {flags}: {code}\n{read()}")
    for path, text in COMMANDS[name].items():
        now = (root / path).read_text(encoding="utf-8")
        said.append(f"##### {path}\n{now}" if now != text else "")
    unused = {language: one.unused(found) for found in api.infer(root) for language, one in _beside(root, found)}
    said += [f"unused in {language}: {[one.name for one in ones]}\n" for language, ones in unused.items()]
    return "".join(said).replace(str(root), "ROOT")


def _beside(root: Path, found: Inference) -> Iterator[tuple[str, api.Declarations]]:
    yield from api.declared(root, [found.language]).items()


def test_a_file_has_no_manifests(tmp_path: Path) -> None:
    """Flags that need some are refused."""
    (tmp_path / "a.py").write_text("import requests\n")
    with pytest.raises(UsageError, match=r"^--write needs a repository; give its folder$"):
        infer(tmp_path / "a.py", write=True)
    with pytest.raises(UsageError, match=r"^--declared needs a repository; give its folder$"):
        infer(tmp_path / "a.py", beside=True)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_tells_and_writes_as_ever(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is needed and why, where it is declared, what is unused; then each manifest with what was missing."""
    monkeypatch.setenv("COLUMNS", "200")

    def read() -> str:
        said = capsys.readouterr()
        return said.out + said.err

    expected = GOLDEN / f"command_{name}.txt"
    told = command_told(name, tmp_path / "r", read)
    if WRITES in os.environ:
        expected.write_text(told, encoding="utf-8")
    assert told == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FURTHER)
def test_further_repositories_are_inferred_from_as_ever(name: str) -> None:
    """Several projects, namespaces, single modules, stubs, workspaces; places, reach, depth, and every number."""
    assert all_told(name) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("language", INFERERS)
def test_a_repository_is_inferred_from_as_ever(language: str) -> None:
    """Kinds, names, confidence, and why: what decides a dependency is not moved unseen."""
    expected = (GOLDEN / f"{language}.txt").read_text(encoding="utf-8")
    assert told(inferred(language, REPOSITORIES[language])) == expected


if __name__ == "__main__":
    for language, repository in REPOSITORIES.items():
        (GOLDEN / f"{language}.txt").write_text(told(inferred(language, repository)), encoding="utf-8")
    for name in FURTHER:
        (GOLDEN / f"{name}.txt").write_text(all_told(name), encoding="utf-8")
    for suffix in SOURCES:
        (GOLDEN / f"sources{suffix}.txt").write_text(imports_told(suffix), encoding="utf-8")
    (GOLDEN / "projects.txt").write_text(projects_told(), encoding="utf-8")
    (GOLDEN / "layouts.txt").write_text(layouts_told(), encoding="utf-8")
    for name, repository in FORMS.items():
        (GOLDEN / f"{name}.txt").write_text(told(inferred(name.partition("_")[0], repository)), encoding="utf-8")
