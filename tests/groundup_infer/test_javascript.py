"""JavaScript and TypeScript."""

from pathlib import Path

import pytest

from groundup_infer.inference import infer
from groundup_infer.javascript_inference import javascript_imports, package_of
from groundup_infer.records import InferredKind, Manner
from tests.groundup_infer.trees import inferred, names


def test_every_form_of_import_is_found() -> None:
    """import, export-from, require, require.resolve and import() are imports."""
    source = (
        b"import a from 'a'\nimport 'b'\nexport * from 'c'\nexport { d } from 'd'\nconst e = require('e')\n"
        b"require.resolve('f')\nawait import('g')\nother('h')\nrequire(name)\nrequire('i').j()\n"
    )
    assert [item.text for item in javascript_imports(source, ".js")] == list("abcdefgi")


def test_only_the_requiring_call_names_a_package() -> None:
    """What is called on a required module has arguments of its own."""
    source = b"require('path').join('lib', 'x')\nrequire('./a').load('index')\nload(require('p'), 'q')\n"
    assert [item.text for item in javascript_imports(source, ".js")] == ["path", "./a", "p"]


@pytest.mark.parametrize(
    ("suffix", "source"),
    [
        (".ts", b"import x = require('p')"),
        (".tsx", b"import x from 'p'\nconst y = <div>{x as any}</div>"),
        (".mjs", b"export { x } from 'p'"),
        (".cjs", b"module.exports = require('p')"),
        (".mts", b"import { type A, b } from 'p'"),
    ],
)
def test_every_dialect_is_read(suffix: str, source: bytes) -> None:
    """The grammar follows the file name."""
    assert [(item.text, set(item.manners)) for item in javascript_imports(source, suffix)] == [("p", set())]


@pytest.mark.parametrize(
    ("source", "manners"),
    [
        (b"try { require('p') } catch (e) {}", {Manner.GUARDED}),
        (b"try { x() } catch (e) { require('p') }", {Manner.FALLBACK}),
        (b"function f() { return require('p') }", {Manner.LAZY}),
        (b"(function () { require('p') })()", set()),
        (b"if (x) { require('p') }", {Manner.CONDITIONAL}),
        (b"import('p')", {Manner.LAZY}),
    ],
)
def test_the_manner_is_what_stands_around_it(source: bytes, manners: set[Manner]) -> None:
    """Guards, functions and conditions are seen; a wrapper that is called at once is none."""
    (found,) = javascript_imports(source, ".js")
    assert set(found.manners) == manners


def test_imports_of_types_alone_are_distinguished() -> None:
    """`import type` needs nothing at run time; a package named `type` is imported as any other."""
    found = javascript_imports(b"import type { A } from 'p'\nimport type from 'type'\n", ".ts")
    assert [set(item.manners) for item in found] == [{Manner.TYPING}, set()]


@pytest.mark.parametrize(
    ("specifier", "package"),
    [
        ("lodash/fp", "lodash"),
        ("@scope/name/sub", "@scope/name"),
        ("./local", None),
        ("../up", None),
        ("/root", None),
        ("#internal", None),
        ("~/alias", None),
        ("@/alias", None),
        ("node:fs", None),
        ("fs", None),
        ("fs/promises", None),
        ("events/", "events"),
        ("url/url.js", "url"),
        ("https://example.com/x.js", None),
        ("npm:chalk@5", "chalk"),
        ("style-loader!./x.css", None),
        ("@scope", None),
        ("Not A Package", None),
    ],
)
def test_specifiers_name_packages(specifier: str, package: str | None) -> None:
    """Files, aliases, URLs and Node's own modules are no packages."""
    assert package_of(specifier) == package


def test_place_decides_what_a_package_is_for() -> None:
    """Sources are run time, tests and configuration are not, guarded ones are optional; the workspace is local."""
    found = inferred(
        "javascript",
        {
            "package.json": '{"name": "mine", "dependencies": {"left-pad": "1"}}',
            "tsconfig.json": '{"compilerOptions": {"paths": {"lib/*": ["src/*"]}}} // note',
            "src/index.ts": "import a from 'express'\nimport b from 'mine'\nimport c from 'lib/x'\n",
            "src/x.ts": "try { require('bufferutil') } catch {}\nimport type { T } from 'typings'\n",
            "src/App.vue": "<template><p>import</p></template>\n<script>\nimport v from 'vue'\n</script>\n",
            "index.d.ts": "import type { E } from 'estree'\n",
            "test/a.test.js": "import t from 'vitest'\n",
            "rollup.config.js": "import r from 'rollup'\n",
        },
    )
    assert names(found, InferredKind.RUNTIME) == {"express", "vue", "@types/estree"}
    assert names(found, InferredKind.OPTIONAL) == {"bufferutil"}
    assert names(found, InferredKind.DEV) == {"vitest", "typings"}
    assert names(found, InferredKind.BUILD) == {"rollup"}


def test_a_type_asked_for_where_it_stands_loads_nothing() -> None:
    """`typeof import("x")` in shipped declarations is optional; an import statement there is needed by users."""
    types = "import { A } from 'needed'\nexport type Loaded = { b: typeof import('maybe'), c: A }\n"
    found = inferred("javascript", {"package.json": "{}", "index.d.ts": types, "index.js": "import('later')\n"})
    assert names(found, InferredKind.RUNTIME) == {"needed", "later"}
    assert names(found, InferredKind.OPTIONAL) == {"maybe"}


def test_modules_that_are_types_alone_need_their_types() -> None:
    """Nothing of `mdast` can be loaded: where declarations ask for it, its types are what users need."""
    files = {"package.json": "{}", "index.d.ts": "export type Nodes = import('mdast').Nodes\n"}
    assert names(inferred("javascript", files), InferredKind.RUNTIME) == {"@types/mdast"}


def test_lists_that_are_resolved_are_imports() -> None:
    """Presets resolve the plugins that they list; another list of words is none."""
    files = {
        "package.json": "{}",
        "index.js": "x = [...['@babel/a', 'b'].map(require.resolve), ['c'].map(trim), ['d', e].map(require)]\n",
    }
    assert names(inferred("javascript", files), InferredKind.RUNTIME) == {"@babel/a", "b", "d"}


def test_style_sheets_load_packages() -> None:
    """Sass and Less name a package by its scope, `~` or `pkg:`; a plain name is a file, a comment nothing."""
    sheet = (
        "@use '@material/theme/theme' as t;\n@forward \"pkg:library\" show x;\n"
        "@import '~bootstrap/scss/a', 'other';\n"
        "@import (reference) \"~@scope/less\";\n@use 'sass:math';\n// @use '@gone/a';\n/* @use '@gone/b'; */\n"
        "@import '~/own', url(https://a.b/@c/d);\n@media (x) { a: '@none/b' }\n"
    )
    found = inferred("javascript", {"package.json": "{}", "src/a.scss": sheet, "src/index.js": "import 'x'\n"})
    assert names(found, InferredKind.RUNTIME) == {
        "@material/theme", "library", "bootstrap", "@scope/less", "x",
    }  # fmt: skip
    assert found.dependencies[0].evidence[0].line == 1


def test_style_sheets_alone_are_no_javascript(tmp_path: Path) -> None:
    """A project of another language with a style sheet gets no answer for JavaScript."""
    (tmp_path / "a.py").write_text("import x\n")
    (tmp_path / "a.scss").write_text("@use '@scope/x';\n")
    assert [one.language for one in infer(tmp_path)] == ["python"]


def test_imported_helpers_are_a_package() -> None:
    """TypeScript's compiler is told to import what it would write into each file."""
    options = '{\n  "compilerOptions": {\n    "importHelpers": true // smaller\n  }\n}'
    files = {"package.json": "{}", "tsconfig.json": options, "src/a.ts": "export {}\n"}
    (helpers,) = inferred("javascript", files).dependencies
    assert (helpers.name, helpers.kind) == ("tslib", InferredKind.RUNTIME)
    assert (helpers.evidence[0].path, helpers.evidence[0].line) == ("tsconfig.json", 3)
    files["tsconfig.json"] = options.replace("true", "false")
    assert not inferred("javascript", files).dependencies


def test_a_base_folder_that_is_a_file_makes_nothing_importable() -> None:
    """A stranger's options may name one."""
    options = '{"compilerOptions": {"baseUrl": "index.js"}}'
    found = inferred("javascript", {"tsconfig.json": options, "package.json": "{}", "index.js": "import 'react'"})
    assert names(found, InferredKind.RUNTIME) == {"react"}
