"""Rust: from path roots to crates, by crate of the workspace, place and condition.

Every crate that one Rust file names as the root of a path, and under which conditions.
"""

import re
from collections import defaultdict
from enum import IntEnum
from pathlib import PurePosixPath
from typing import NamedTuple

from tree_sitter import Node

from groundup.grammars import ancestors, captures, line_of, parse, text_of
from groundup.sources.files import SourceFile, SourceFiles, as_utf8
from groundup.sources.names import table, words
from groundup.sources.project_files import toml_of
from groundup_infer.python_layout import SourcePlace
from groundup_infer.records import (
    EVIDENCE_KEPT,
    Evidence,
    Inference,
    InferredDependency,
    InferredKind,
    Manner,
)

_QUERY = """
(use_declaration argument: (_) @use)
(extern_crate_declaration) @extern
(mod_item name: (identifier) @module)
[(struct_item) (enum_item) (union_item) (type_item) (macro_definition)] @defined
(scoped_identifier path: [(identifier) (scoped_identifier)]) @path
(scoped_type_identifier path: [(identifier) (scoped_identifier)]) @path
(macro_invocation (token_tree) @tokens)
(macro_rule right: (token_tree) @tokens)
(attribute_item) @attribute
(inner_attribute_item) @inner
"""
KEYWORDS = words(
    "crate self super Self std core alloc proc_macro test r# rustfmt clippy rustdoc rustc miri diagnostic"
)
"""Path roots that name no crate of a registry."""
_PRIMITIVES = words(
    """
    u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f16 f32 f64 f128 bool char str slice array never fn
    pointer tuple
    """
)
_STANDARD = words(
    """
    alloc any arch array ascii borrow boxed cell char clone cmp collections convert default env error ffi fmt fs
    future hash hint io iter marker mem net num ops option os panic path pin prelude process ptr rc result slice
    str string sync task thread time vec intrinsics atomic f32 f64 mpsc
    """
)
"""Modules of the standard library, as a glob import or a macro brings them into scope."""
_TOKEN_PATH = re.compile(r"(?<![\w:$.#'])(?:r#)?([a-z_][a-z0-9_]*)\s*::(?!<)")
_DERIVED = re.compile(r"\bderive\s*\(([^()]*)\)")
_DERIVES = re.compile(r"#\s*!?\[\s*(?:derive|cfg_attr)\s*\(")
_TOKEN_ABSOLUTE = re.compile(r"(?<![\w>:$])::\s*([a-z_][a-z0-9_]*)\s*::")
_TOKEN_MODULE = re.compile(r"\bmod\s+([a-z_][a-z0-9_]*)")
_TOKEN_NAME = re.compile(r"(?:^\W*|,\s*)([a-z_][a-z0-9_]*)\s*(?=[,;)\]}]|$)")
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


class Certainty(IntEnum):
    """How surely a name is a crate; lower is surer."""

    USED = 0
    """By `use a::b`, `extern crate` or a path that starts with `::`."""
    PATH = 1
    """By a path in the code, whose root may also come from a glob import."""
    HINT = 2
    """In macro tokens, in an attribute, or by a lone `use name`."""


class Root(NamedTuple):
    """One crate named at the root of a path."""

    crate: str
    """As the source spells it: with `_`."""
    line: int
    manners: frozenset[Manner]
    certainty: Certainty


class RustFile(NamedTuple):
    """What one file imports and declares."""

    roots: list[Root]
    modules: frozenset[str]
    """Modules that it declares."""
    gated: dict[str, frozenset[Manner]]
    """Of these, the conditional ones."""
    bound: frozenset[str]
    """Names that `use` brings into scope, and lower-case types and macros."""
    aliases: dict[str, str]
    """Names that `extern crate ... as` gives to crates, for the whole crate."""
    conditions: frozenset[Manner]
    """Of the whole file, by inner attributes."""


class _Scope(NamedTuple):
    """The names of one file."""

    modules: set[str]
    defined: set[str]
    """Types and macros."""
    bound: set[str]
    """Names that `use` brings in from below a crate, and by `extern crate`."""
    aliases: dict[str, str]
    blurred: bool
    """Whether a glob import at the file's top may bring in anything."""


_Found = list[tuple[str, Node]]
_Named = list[tuple[str, Node, Certainty]]


def rust_imports(source: bytes) -> RustFile:
    """Return the crates that UTF-8 *source* names. Never fails: what cannot be parsed is left out."""
    found = captures("rust", _QUERY, parse("rust", source).root_node)
    scope = _scope(found)
    roots = _used(found, scope)
    roots += _in_paths(found, scope, {root for root, _, _ in roots})
    return RustFile(
        _unique(roots, scope.modules),
        frozenset(scope.modules),
        {text_of(node): gate for name, node in found if name == "module" and (gate := _conditions(node))},
        frozenset(scope.bound | scope.defined),
        scope.aliases,
        frozenset().union(*(_attribute(text_of(node)) for name, node in found if name == "inner")),
    )


def _scope(found: _Found) -> _Scope:
    scope = _Scope(set(), set(), set(), {}, any(_is_open_glob(node) for name, node in found if name == "use"))
    for name, node in found:
        if name == "module":
            scope.modules.add(text_of(node))
        elif name == "defined":
            inner = node.child_by_field_name("name")
            scope.defined.add(text_of(inner) if inner is not None else "")
        elif name == "tokens":  # macros make modules and types out of the names given to them
            text = _STRINGS.sub(" ", text_of(node))
            scope.modules.update(_TOKEN_MODULE.findall(text))
            scope.defined.update(_TOKEN_NAME.findall(text))
        elif name == "use":
            scope.bound.update(set(_bound(node)) - set(_use_roots(node)))
    return scope


def _is_open_glob(use: Node) -> bool:
    text = text_of(use)
    if "*" not in text or re.match(r"(std|core|alloc)::", text):
        return False
    declaration = use.parent
    return declaration is not None and declaration.parent is not None and declaration.parent.type == "source_file"


def _used(found: _Found, scope: _Scope) -> _Named:
    """Return the crates of `use` and `extern crate`; notes the names that the latter gives."""
    roots: _Named = []
    for name, node in found:
        if name == "use":
            # a lone name may be a macro of the crate itself; a name bound by another `use` is no crate
            alone = node.type in {"identifier", "use_as_clause", "use_list"} and "::" not in text_of(node)
            certainty = Certainty.HINT if alone else Certainty.USED
            roots += [(root, node, certainty) for root in _use_roots(node) if root not in scope.bound]
        elif name == "extern":
            crate, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
            if crate is not None:
                roots.append((text_of(crate), node, Certainty.USED))
                scope.bound.add(text_of(alias or crate))
            if crate is not None and alias is not None:
                scope.aliases[text_of(alias)] = text_of(crate)
    return roots


def _in_paths(found: _Found, scope: _Scope, used: set[str]) -> _Named:
    """Return the crates that paths and macro tokens outside of `use` name."""
    local = (scope.bound | used | scope.modules) - used
    roots: _Named = []
    used_until, path_start = 0, -1
    for name, node in found:
        if name == "use":
            used_until = node.end_byte
        elif node.start_byte < used_until:
            continue
        elif name == "path" and node.start_byte != path_start:  # the whole path comes before its beginnings
            path_start = node.start_byte
            roots += [
                (root, node, Certainty.HINT if scope.blurred and certainty is Certainty.PATH else certainty)
                for root, certainty in _path_root(node)
                if root not in scope.modules and root not in local
            ]
        elif name in {"tokens", "attribute"}:
            text = _STRINGS.sub(" ", text_of(node))
            if name == "attribute" and _DERIVES.match(text):  # what it derives are paths as in code
                derived = ", ".join(_DERIVED.findall(text))
                roots += [(root, node, Certainty.USED) for root in _TOKEN_ABSOLUTE.findall(derived)]
                paths = [root for root in _TOKEN_PATH.findall(derived) if root not in scope.modules | local]
                roots += [(root, node, Certainty.HINT if scope.blurred else Certainty.PATH) for root in paths]
            hints = [root for root in _TOKEN_PATH.findall(text) if root not in local]
            roots += [(root, node, Certainty.HINT) for root in (*hints, *_TOKEN_ABSOLUTE.findall(text))]
    return roots


def _unique(roots: list[tuple[str, Node, Certainty]], modules: set[str]) -> list[Root]:
    """Keep per crate the occurrences that add something: firmer, or under fewer conditions."""
    kept: dict[str, list[Root]] = {}
    tries: dict[str, int] = {}
    for crate, node, certainty in roots:
        name = crate.removeprefix("r#")
        if name in KEYWORDS or name in _PRIMITIVES or not name or name[0].isupper():
            continue
        if name in modules and not _inside_namesake(node, name):
            continue
        before = kept.setdefault(name, [])
        tries[name] = tries.get(name, 0) + 1
        if tries[name] > 30 or any(not root.manners and root.certainty <= certainty for root in before):
            continue
        item = Root(name, line_of(node), _conditions(node), certainty)
        if not any(root.manners <= item.manners and root.certainty <= certainty for root in before):
            left = [root for root in before if not item.manners <= root.manners or root.certainty < certainty]
            kept[name] = [*left, item]
    return [root for roots_of in kept.values() for root in roots_of]


def _inside_namesake(node: Node, name: str) -> bool:
    """Whether *node* stands in an inline module of that name: what it means there is the crate."""
    return any(
        parent.type == "mod_item" and text_of(inner) == name
        for parent, _ in ancestors(node)
        if (inner := parent.child_by_field_name("name")) is not None
    )


def _use_roots(node: Node) -> list[str]:
    """Return the first segments of a use tree."""
    if node.type in {"use_list", "use_wildcard"}:
        return [root for child in node.named_children for root in _use_roots(child)]
    if node.type == "use_as_clause":
        path = node.child_by_field_name("path")
        return _use_roots(path) if path is not None else []
    if node.type in {"scoped_use_list", "scoped_identifier"}:
        path = node.child_by_field_name("path")
        if path is not None:
            return _use_roots(path)
        inner = node.child_by_field_name("list") or node.child_by_field_name("name")
        return _use_roots(inner) if inner is not None else []
    return [text_of(node)] if node.type == "identifier" else []


def _bound(node: Node) -> list[str]:
    """Return the names that a use tree brings into scope; `self` in a list binds its parent."""
    if node.type == "use_as_clause":
        alias = node.child_by_field_name("alias")
        return [text_of(alias)] if alias is not None else []
    if node.type == "scoped_use_list":
        path, inner = node.child_by_field_name("path"), node.child_by_field_name("list")
        names = [name for child in inner.named_children for name in _bound(child)] if inner is not None else []
        if "self" in names and path is not None:
            names.append(text_of(path).rpartition("::")[2])
        return names
    if node.type == "use_list":
        return [name for child in node.named_children for name in _bound(child)]
    if node.type == "scoped_identifier":
        name = node.child_by_field_name("name")
        return [text_of(name)] if name is not None else []
    return [text_of(node)] if node.type in {"identifier", "self"} else []


def _path_root(node: Node) -> list[tuple[str, Certainty]]:
    path: Node | None = node
    while path is not None and path.type in {"scoped_identifier", "scoped_type_identifier"}:
        inner = path.child_by_field_name("path")
        if inner is None:  # `::name`
            name = path.child_by_field_name("name")
            return [(text_of(name), Certainty.USED)] if name is not None else []
        path = inner
    if path is None or path.type != "identifier":
        return []
    root = text_of(path)
    certainty = Certainty.HINT if root in _STANDARD or root.endswith("_t") else Certainty.PATH
    return [(root, certainty)]


def _conditions(node: Node) -> frozenset[Manner]:
    """Return what the attributes of everything around *node* demand, and its own where it is one."""
    manners = set(_attribute(f"#[cfg({_cfg_attr(text_of(node))})]")) if node.type == "attribute_item" else set()
    for _, child in ancestors(node):
        before = child.prev_named_sibling
        while before is not None and before.type in {"attribute_item", "line_comment", "block_comment"}:
            if before.type == "attribute_item":
                manners |= _attribute(text_of(before))
            before = before.prev_named_sibling
    return frozenset(manners)


def _cfg_attr(text: str) -> str:
    """Return the condition of a `cfg_attr`; empty for another attribute."""
    begin = re.match(r"#\s*!?\[\s*cfg_attr\s*\(", text)
    if begin is None:
        return ""
    depth = 0
    for position, letter in enumerate(text[begin.end() :], begin.end()):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            return text[begin.end() : position]
    return ""


def _attribute(text: str) -> frozenset[Manner]:
    inside = "".join(text.split())
    if re.match(r"#!?\[(test|bench|tokio::test|async_std::test|rstest|proptest|quickcheck|test_case)", inside):
        return frozenset({Manner.TEST})
    if not re.match(r"#!?\[cfg\(", inside):
        return frozenset()
    manners = set()
    tested = re.search(r"(?<!not)\((all\()?(test|doctest|kani|fuzzing)\b|[(,](test|doctest|kani)[,)]", inside)
    if tested and "not(test" not in inside and not re.search(r"any\([^)]*feature", inside):
        manners.add(Manner.TEST)
    if "feature=" in inside and not re.fullmatch(r"#!?\[cfg\(not\(feature=\"[^\"]*\"\)\)\]", inside):
        manners.add(Manner.FEATURE)
    if re.search(r"target_|windows|unix|wasm", inside):
        manners.add(Manner.PLATFORM)
    return frozenset(manners)


_LIMITS = (
    "Whether a crate's registry name has `-` or `_` cannot be seen; names not known get `-`.",
    "Renamed dependencies (`package = ...`) appear under the name the code uses, unless it tells a known crate.",
    "Crates that only features, build profiles or link attributes name leave no path and are missing; features "
    "and versions are not inferred.",
    "A path that only stands in macro tokens counts when its root is a known crate.",
)


class CrateUse(NamedTuple):
    """One occurrence of a crate."""

    path: str
    item: Root
    place: SourcePlace


class Crate(NamedTuple):
    """One Cargo package."""

    folder: str
    names: frozenset[str]
    edition_2015: bool
    makes_macros: bool
    """A procedural-macro crate: paths in its macro tokens are code for others."""


_NO_CRATE = Crate("", frozenset(), edition_2015=False, makes_macros=False)


def crates_of(tree: SourceFiles) -> list[Crate]:
    """Return the packages of the repository, innermost folders first."""
    found = []
    for path, data in tree.manifests.items():
        if not path.endswith("Cargo.toml"):
            continue
        document = toml_of(as_utf8(data))
        package, library = document.get("package"), document.get("lib")
        names = {
            str(part["name"]).replace("-", "_")
            for part in (package, library)
            if isinstance(part, dict) and "name" in part
        }
        edition = package.get("edition", "2015") if isinstance(package, dict) else "2021"
        folder = PurePosixPath(path).parent.as_posix()
        macros = isinstance(library, dict) and bool(library.get("proc-macro") or library.get("proc_macro"))
        found.append(Crate("" if folder == "." else folder, frozenset(names), edition == "2015", macros))
    return sorted(found, key=lambda crate: -len(crate.folder))


def place_of(inside: str, whole: bool) -> SourcePlace:
    """Decide by the path inside the package."""
    parts = PurePosixPath(inside).parts
    if not whole:
        return SourcePlace.PACKAGE
    if inside == "build.rs" or parts[0] == "build":
        return SourcePlace.BUILD
    if parts[0] in {"tests", "benches", "fuzz", "test", "bench", "testing"}:
        return SourcePlace.TEST
    if parts[0] in {"examples", "docs", "example", "ci"}:
        return SourcePlace.EXAMPLE
    if parts[-1] in {"tests.rs", "test.rs"} or "tests" in parts[1:-1]:
        return SourcePlace.TEST
    return SourcePlace.PACKAGE


def infer_rust(tree: SourceFiles) -> Inference:
    """Infer the crates that the Rust part of *tree* needs."""
    crates = crates_of(tree)
    own = frozenset().union(*(crate.names for crate in crates)) if crates else frozenset[str]()
    sources = [source for source in tree.sources if source.suffix == ".rs"]
    owners: dict[str, list[SourceFile]] = defaultdict(list)
    by_folder = {crate.folder: crate for crate in crates}
    for source in sources:
        owners[next((c.folder for c in crates if _inside(source.path, c.folder) is not None), "")].append(source)
    grouped: dict[str, list[CrateUse]] = defaultdict(list)
    for folder, members in owners.items():
        for use in _uses(members, by_folder.get(folder, _NO_CRATE), tree.whole):
            if use.item.crate not in own:
                grouped[use.item.crate].append(use)
                if use.item.crate == "serde_derive":  # what it derives names serde
                    grouped["serde"].append(use)
    known = table("rust_names", "groundup_infer")
    dependencies = [_judge(name, uses, known) for name, uses in grouped.items() if _counts(name, uses, known)]
    return Inference(
        language="rust",
        dependencies=tuple(
            sorted(dependencies, key=lambda item: (list(InferredKind).index(item.kind), item.name))
        ),
        unknown=tuple(
            sorted(name for name, uses in grouped.items() if name not in known and _counts(name, uses, known))
        ),
        local=tuple(sorted(own)),
        files=len(sources),
        cannot_know=_LIMITS,
    )


def _inside(path: str, folder: str) -> str | None:
    if not folder:
        return path
    return path[len(folder) + 1 :] if path.startswith(f"{folder}/") else None


def _uses(members: list[SourceFile], crate: Crate, whole: bool) -> list[CrateUse]:
    """Return the crates that the files of one package name, minus its own modules."""
    files = {source.path: rust_imports(source.data) for source in members}
    counted = {source.path: source.lines for source in members}
    gates = _gates(files)
    everywhere = frozenset().union(*(file.modules for file in files.values())) if files else frozenset[str]()
    bound = frozenset().union(*(file.bound for file in files.values())) if files else frozenset[str]()
    aliases = {alias: name for file in files.values() for alias, name in file.aliases.items()}
    roots_modules = frozenset().union(
        *(file.modules for path, file in files.items() if PurePosixPath(path).name in {"lib.rs", "main.rs"})
    )
    known = table("rust_names", "groundup_infer")
    found = []
    for path, file in files.items():
        inside = _inside(path, crate.folder) or path
        extra = file.conditions | gates.get(path, frozenset())
        for item in file.roots:
            certainty, hint = item.certainty, item.certainty is Certainty.HINT
            if certainty and (item.crate in everywhere or (hint and crate.makes_macros)):
                continue
            if item.crate in (roots_modules if crate.edition_2015 else everywhere - known.keys()):
                continue
            if certainty is Certainty.PATH and (crate.edition_2015 or item.crate in bound):
                certainty = Certainty.HINT
            name = _meant(aliases.get(item.crate, item.crate), crate.names, known)
            lines = counted[path]
            if name not in KEYWORDS and (lines is None or item.line in lines):
                meant = item._replace(crate=name, certainty=certainty, manners=item.manners | extra)
                found.append(CrateUse(path, meant, place_of(inside, whole)))
    return found


_RENAMED = re.compile(r"(.+?)_?v?\d[\d_]*x?(?:_dep|_crate)?|(.+?)_(?:dep|crate)")


def _meant(name: str, own: frozenset[str], known: dict[str, str]) -> str:
    """Return the crate that a manifest probably renamed to *name*, which no known crate has; else *name*.

    `http_02x` and `tokio_dep` are a release of http and tokio; in quinn, `proto` is quinn-proto; `ffi` are the
    bindings.
    """
    if name in known:
        return name
    released = _RENAMED.fullmatch(name)
    plain = (released.group(1) or released.group(2)) if released else ""
    families = {one.partition("_")[0] for one in own}
    candidates = [plain, *(f"{family}_{name}" for family in families)]
    if name == "ffi":
        candidates += [f"{family}_sys" for family in families]
    return next((one for one in candidates if one in known and one not in own), name)


def _gates(files: dict[str, RustFile]) -> dict[str, frozenset[Manner]]:
    """Return the conditions under which files are modules at all, by their parents' `mod` declarations."""
    found: dict[str, frozenset[Manner]] = {}
    for path, file in files.items():
        pure = PurePosixPath(path)
        home = pure.parent if pure.name in {"lib.rs", "main.rs", "mod.rs"} else pure.with_suffix("")
        for module, manners in file.gated.items():
            below = f"{(home / module).as_posix()}/"
            for other in files:
                if other == f"{below[:-1]}.rs" or other.startswith(below):
                    found[other] = found.get(other, frozenset()) | manners
    return found


def _counts(name: str, uses: list[CrateUse], known: dict[str, str]) -> bool:
    return name in known or any(use.item.certainty < Certainty.HINT for use in uses)


def _strength(use: CrateUse) -> tuple[int, int, int, str, int]:
    return (list(SourcePlace).index(use.place), use.item.certainty, len(use.item.manners), use.path, use.item.line)


def _judge(name: str, uses: list[CrateUse], known: dict[str, str]) -> InferredDependency:
    uses = sorted(uses, key=_strength)
    return InferredDependency(
        name=known.get(name, name.replace("_", "-")),
        kind=_kind(uses),
        imported=(name,),
        known=name in known,
        evidence=tuple(
            Evidence(
                path=use.path,
                line=use.item.line,
                imported=name,
                place=use.place,
                manners=tuple(sorted(use.item.manners)),
            )
            for use in uses[:EVIDENCE_KEPT]
        ),
        uses=len(uses),
    )


def _kind(uses: list[CrateUse]) -> InferredKind:
    package = [use for use in uses if use.place is SourcePlace.PACKAGE and Manner.TEST not in use.item.manners]
    if not package:
        return InferredKind.BUILD if all(use.place is SourcePlace.BUILD for use in uses) else InferredKind.DEV
    firm = [use for use in package if Manner.FEATURE not in use.item.manners]
    return InferredKind.RUNTIME if firm else InferredKind.OPTIONAL
