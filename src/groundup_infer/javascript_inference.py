"""JavaScript and TypeScript: imports of a file, and from specifiers to packages by where they stand."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from tree_sitter import Node

from groundup.grammars import ancestors, captures, line_of, parse, text_of
from groundup.sources.files import READ, STYLES, SUFFIXES, SourceFile, SourceFiles, as_utf8, grammar_of
from groundup.sources.names import words
from groundup.sources.project_files import json_of
from groundup_infer.python_layout import SourcePlace
from groundup_infer.records import (
    EVIDENCE_KEPT,
    Evidence,
    Inference,
    InferredDependency,
    InferredKind,
    Manner,
)

_JAVASCRIPT = """
(import_statement source: (string) @static)
(export_statement source: (string) @static)
(call_expression function: (import) arguments: (arguments . (string) @dynamic))
(call_expression
  function: [(identifier) (member_expression)] arguments: (arguments . (string) @argument))
(call_expression
  function: (member_expression object: (array (string) @listed) property: (property_identifier) @map)
  arguments: (arguments . [(identifier) (member_expression)] @each)
  (#eq? @map "map") (#match? @each "^require([.]resolve)?$"))
"""
_TYPESCRIPT = (
    _JAVASCRIPT
    + """
(import_require_clause source: (string) @static)
"""
)
_REQUIRES = re.compile(
    r"(module\.)?require(\.resolve)?|__non_webpack_require__|(this\.)?_?require|jest\.(requireActual|mock)|vi\.(mock|importActual)|import\.meta\.resolve"
)
_FUNCTIONS = words(
    """
    function_declaration function_expression function arrow_function method_definition generator_function
    generator_function_declaration
    """
)


class ImportedSpecifier(NamedTuple):
    """One imported specifier, as written."""

    text: str
    line: int
    manners: frozenset[Manner]


def javascript_imports(source: bytes, suffix: str) -> list[ImportedSpecifier]:
    """Return what UTF-8 *source* imports, in order. Never fails: what cannot be parsed is left out."""
    if suffix in STYLES:
        return list(_style_imports(source.decode("utf-8", "replace")))
    grammar = grammar_of("javascript", suffix)
    if not any(word in source for word in (b"require", b"import", b"export", b"from")):
        return []
    query = _JAVASCRIPT if grammar == "javascript" else _TYPESCRIPT
    found: list[ImportedSpecifier] = []
    for name, node in captures(grammar, query, parse(grammar, source).root_node):
        function = _called_with(node) if name == "argument" else ""
        if name in {"map", "each"} or (name == "argument" and not _REQUIRES.fullmatch(function)):
            continue
        text = text_of(node)[1:-1]
        if text and "\n" not in text:
            found.append(ImportedSpecifier(text, line_of(node), _manners(name, node, function)))
    return found


def _called_with(argument: Node) -> str:
    """Return the text of the function whose call has *argument*."""
    call = argument.parent.parent if argument.parent is not None else None
    function = call.child_by_field_name("function") if call is not None else None
    return text_of(function) if function is not None else ""


_COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.DOTALL)
_STYLE_IMPORT = re.compile(r"@(?:use|forward|import)\s+([^;{}\n]+)")
_OF_PACKAGE = re.compile(r"[\"'](?:~|pkg:)?(@[\w-]+/[^\"']+)[\"']|[\"'](?:~(?!/)|pkg:)([^@\"'][^\"']*)[\"']")
"""A plain name is a file beside the style sheet, unless a scope, `~` or `pkg:` says that it is a package."""


def _style_imports(source: str) -> Iterator[ImportedSpecifier]:
    """Yield what a sheet of Sass or Less loads from packages."""
    text = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)
    for statement in _STYLE_IMPORT.finditer(text):
        for found in _OF_PACKAGE.finditer(statement[1]):
            line = text.count("\n", 0, statement.start()) + 1
            yield ImportedSpecifier(found[1] or found[2], line, frozenset())


def _manners(name: str, node: Node, function: str) -> frozenset[Manner]:
    manners: set[Manner] = set()
    if name == "static":
        statement = node.parent
        head = text_of(statement)[:40] if statement is not None else ""
        return (
            frozenset({Manner.TYPING})
            if re.match(r"(import|export)\s+type\b(?!\s*(from|,))", head)
            else frozenset()
        )
    if name == "dynamic":
        manners.add(Manner.LAZY)
    if function.startswith(("jest.", "vi.")):
        manners.add(Manner.TEST)
    for parent, child in ancestors(node):
        if parent.type == "try_statement" and child == parent.child_by_field_name("body"):
            if parent.child_by_field_name("handler") is not None:
                manners.add(Manner.GUARDED)
        elif parent.type == "catch_clause":
            manners.add(Manner.FALLBACK)
        elif parent.type in _FUNCTIONS and not _is_wrapper(parent):
            manners.add(Manner.LAZY)
        elif parent.type == "if_statement" and child != parent.child_by_field_name("condition"):
            manners.add(Manner.CONDITIONAL)
    return frozenset(manners)


def _is_wrapper(function: Node) -> bool:
    """Whether a function is called where it stands, as module wrappers are."""
    parent = function.parent
    while parent is not None and parent.type in {
        "parenthesized_expression",
        "unary_expression",
        "member_expression",
    }:
        parent = parent.parent
    return (
        parent is not None
        and parent.type in {"call_expression", "arguments"}
        and (
            parent.parent is not None
            and parent.parent.type in {"expression_statement", "call_expression", "unary_expression"}
        )
    )


BUILT_IN = words(
    """
    assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns
    domain events fs http http2 https inspector module net os path perf_hooks process punycode querystring
    readline repl stream string_decoder sys timers tls trace_events tty url util v8 vm wasi worker_threads
    zlib sqlite sea test bun freelist _stream_readable _stream_writable _stream_duplex _stream_transform
    _stream_passthrough _http_agent _http_client _http_common _http_incoming _http_outgoing _http_server
    _tls_common _tls_wrap _linklist electron vscode smalloc tracing
    """
)
_NESTED = words("assert dns fs inspector path readline stream timers util test sea")
"""Built-in modules that have modules inside."""
_PACKAGE = re.compile(r"(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*|JSONStream|Base64")
_TEST = re.compile(
    r"(^|/)(__tests__|__mocks__|__fixtures__|tests?|specs?|e2e|fixtures?|cypress|testing|test-\w+|\w+-tests?)/|"
    r"[._-](test|spec|e2e|stories|story|cy|test-d|bench)\.[cm]?[jt]sx?$|(^|/)(test|tests|spec|karma\.conf|wallaby)\.[cm]?[jt]sx?$|"
    r"(^|/)(setupTests|jest\.[\w.-]+|vitest\.[\w.-]+)\.[cm]?[jt]s$"
)
_EXAMPLE = re.compile(
    r"(^|/)(examples?|demos?|samples?|docs?|website|bench(marks?)?|perf|playground|sandbox|stories|\.storybook|fuzz)/|"
    r"(^|/)(example|demo|bench(mark)?|perf)\.[cm]?js$"
)
_BUILD = re.compile(
    r"(^|/)([\w.-]+\.config(\.\w+)?|gulpfile(\.\w+)?|Gruntfile|gruntfile|rollup\.[\w.-]+|webpack\.[\w.-]+|babel\.[\w.-]+|make|Makefile|Jakefile|"
    r"\.eslintrc|\.prettierrc|\.babelrc|\.\w+rc|karma\.[\w.-]+|esbuild\.[\w.-]+|tsup\.[\w.-]+|vite\.[\w.-]+|build|release|copy-files)\.[cm]?[jt]s$|"
    r"(^|/)(scripts?|tools?|build-tools|\.github|\.circleci|tasks|\.yarn|\.pnp)/"
)
_GENERATED = re.compile(
    r"(^|/)(dist|build|bundles?|umd|browser|_bundles|vendor|third[_-]?party)/|\.min\.js$|[.-]bundle\.js$"
)
_DECLARATIONS = re.compile(r"\.d\.[cm]?ts$")
"""Shipped type declarations: what they import, users of the package need."""
_TYPES_ALONE = {
    name: f"@types/{name}" for name in words("estree estree-jsx geojson hast json-schema mdast nlcst unist xast")
}
"""Modules that exist as types only."""
_HELPERS = "tslib"
"""What TypeScript's compiler imports where it is told to import its helpers."""
_LIMITS = (
    "Packages that only configuration, JSX pragmas, loaders or commands name leave no import and are missing.",
    "Versions are not inferred.",
    "Which packages a caller must bring (peerDependencies) cannot be separated from dependencies by the source.",
)


class PackageUse(NamedTuple):
    """One import of a package."""

    path: str
    item: ImportedSpecifier
    place: SourcePlace


def package_of(specifier: str) -> str | None:
    """Return the package a specifier names; None for files, aliases, URLs and what Node itself provides."""
    text = specifier.rsplit("!", maxsplit=1)[-1].split("?", maxsplit=1)[0]
    if not text or text.startswith((".", "/", "#", "~", "@/", "$", "node:", "bun:", "virtual:", "file:", "data:")):
        return None
    if re.match(r"[a-z][a-z0-9+]*:", text):
        prefix, _, rest = text.partition(":")
        text = rest if prefix in {"npm", "jsr"} else ""
    parts = text.split("/")
    name = "/".join(parts[:2]) if text.startswith("@") else parts[0]
    if text.startswith("npm:") or ("@" in name[1:]):
        name = name[0] + name[1:].partition("@")[0]
    if not _PACKAGE.fullmatch(name) or len(name) > 214:
        return None
    if name in BUILT_IN:  # `events/` and `url/url.js` name the package that stands in for Node's own
        inside = text.removeprefix(name)
        return name if inside == "/" or (inside and name not in _NESTED) else None
    return name


def place_of(path: str, whole: bool = True) -> SourcePlace:
    """Decide by folder and file name."""
    if not whole:
        return SourcePlace.PACKAGE
    if _TEST.search(path):
        return SourcePlace.TEST
    if _EXAMPLE.search(path):
        return SourcePlace.EXAMPLE
    if _BUILD.search(path):
        return SourcePlace.BUILD
    return SourcePlace.PACKAGE


class JavaScriptProject(NamedTuple):
    """What package.json and tsconfig hold, apart from dependencies."""

    names: frozenset[str]
    aliases: tuple[str, ...]
    folders: frozenset[str]
    """Names that a `baseUrl` makes importable without a dot."""
    helped: tuple[tuple[str, int], ...]
    """Files of options, with the line, by which the compiler imports its helpers from a package."""


def read_project(tree: SourceFiles) -> JavaScriptProject:
    """Read names of the workspace's own packages, path aliases and base folders."""
    names: set[str] = set()
    aliases: list[str] = []
    bases: list[str] = []
    helped: list[tuple[str, int]] = []
    for path, data in tree.manifests.items():
        document = json_of(as_utf8(data))
        base = PurePosixPath(path).parent
        if path.endswith("package.json"):
            names.add(str(document.get("name", "")))
        elif path.endswith("config.json"):
            options = document.get("compilerOptions")
            if isinstance(options, dict):
                paths = options.get("paths")
                aliases += [str(key).rstrip("*") for key in paths] if isinstance(paths, dict) else []
                if options.get("importHelpers") is True:
                    helped.append((path, data.count(b"\n", 0, data.find(b'"importHelpers"')) + 1))
                if isinstance(options.get("baseUrl"), str):
                    bases.append((base / options["baseUrl"]).as_posix())
    folders = {
        PurePosixPath(source.path).relative_to(base).parts[0].split(".")[0]
        for base in bases
        for source in tree.sources
        if source.suffix in SUFFIXES["javascript"] and PurePosixPath(base) in PurePosixPath(source.path).parents
    }
    return JavaScriptProject(
        frozenset(names - {""}), tuple(alias for alias in aliases if alias), frozenset(folders), tuple(helped)
    )


def infer_javascript(tree: SourceFiles) -> Inference:
    """Infer the packages that the JavaScript and TypeScript part of *tree* needs."""
    project = read_project(tree)
    sources = [source for source in tree.sources if source.suffix in READ["javascript"]]
    grouped: dict[str, list[PackageUse]] = defaultdict(list)
    for path, line in project.helped:
        use = PackageUse(path, ImportedSpecifier(_HELPERS, line, frozenset()), place_of(path, tree.whole))
        grouped[_HELPERS].append(use)
    for source in sources:
        for item in _counted(source):
            name = package_of(item.text)
            local = name is None or name in project.names or name in project.folders
            if not local and name and not any(item.text.startswith(alias) for alias in project.aliases):
                grouped[_TYPES_ALONE.get(name, name)].append(
                    PackageUse(source.path, item, place_of(source.path, tree.whole))
                )
    dependencies = [_judge(name, uses) for name, uses in grouped.items()]
    return Inference(
        language="javascript",
        dependencies=tuple(
            sorted(dependencies, key=lambda item: (list(InferredKind).index(item.kind), item.name))
        ),
        local=tuple(sorted(project.names)),
        files=len(sources),
        cannot_know=_LIMITS,
    )


def _counted(source: SourceFile) -> list[ImportedSpecifier]:
    items = javascript_imports(source.data, source.suffix)
    return items if source.lines is None else [item for item in items if item.line in source.lines]


def _strength(use: PackageUse) -> tuple[int, int, bool, str, int]:
    return (
        list(SourcePlace).index(use.place),
        len(use.item.manners),
        bool(_GENERATED.search(use.path)),
        use.path,
        use.item.line,
    )


def _judge(name: str, uses: list[PackageUse]) -> InferredDependency:
    uses = sorted(uses, key=_strength)
    return InferredDependency(
        name=name,
        kind=_kind(name, uses),
        imported=tuple(sorted({use.item.text for use in uses})[:20]),
        evidence=tuple(
            Evidence(
                path=use.path,
                line=use.item.line,
                imported=use.item.text,
                place=use.place,
                manners=tuple(sorted(use.item.manners)),
            )
            for use in uses[:EVIDENCE_KEPT]
        ),
        uses=len(uses),
    )


_SOFT = frozenset({Manner.GUARDED, Manner.FALLBACK})


def _kind(name: str, uses: list[PackageUse]) -> InferredKind:
    package = [use for use in uses if use.place is SourcePlace.PACKAGE]
    if not package:
        return InferredKind.BUILD if all(use.place is SourcePlace.BUILD for use in uses) else InferredKind.DEV
    real = [
        use
        for use in package
        if not use.item.manners & {Manner.TYPING, Manner.TEST} or _DECLARATIONS.search(use.path)
    ]
    if not real:
        return InferredKind.DEV
    types = name in _TYPES_ALONE.values()
    firm = [use for use in real if not use.item.manners & _SOFT and (types or not _is_type_alone(use))]
    return InferredKind.RUNTIME if firm else InferredKind.OPTIONAL


def _is_type_alone(use: PackageUse) -> bool:
    """Whether it is `typeof import("x")` in shipped declarations, which loads nothing and is left to users."""
    return Manner.LAZY in use.item.manners and _DECLARATIONS.search(use.path) is not None
