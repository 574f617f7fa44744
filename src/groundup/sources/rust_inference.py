"""Rust: from path roots to crates, by crate of the workspace, place and condition."""

import re
import tomllib
from collections import defaultdict
from pathlib import PurePosixPath
from typing import NamedTuple

from groundup.sources.files import SourceFile, SourceFiles, as_utf8
from groundup.sources.names import table
from groundup.sources.records import (
    EVIDENCE_KEPT,
    Evidence,
    Inference,
    InferredDependency,
    InferredKind,
    Manner,
    SourcePlace,
)
from groundup.sources.rust_imports import KEYWORDS, Certainty, Root, RustFile, rust_imports

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
        try:
            document = tomllib.loads(as_utf8(data).decode("utf-8"))
        except (tomllib.TOMLDecodeError, RecursionError):
            continue
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
    if not whole or not parts:
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
    known = table("rust_names")
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
    known = table("rust_names")
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
