"""Python: from imports to dependencies, each required, optional or for development, with its evidence."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from groundup.sources.files import READ, SourceFiles
from groundup.sources.names import (
    NAMESPACES,
    normalised,
)
from groundup_infer.python_candidates import DistributionCandidate, collect
from groundup_infer.python_features import ImportUse
from groundup_infer.python_imports import (
    Reach,
    is_eager,
)
from groundup_infer.python_layout import (
    PythonLayout,
    SourcePlace,
    below,
    enclosing_folder,
    modules_beside,
    outside,
    projects_below,
)
from groundup_infer.records import (
    EVIDENCE_KEPT,
    Evidence,
    Inference,
    InferredDependency,
    InferredKind,
    Manner,
)


class Weights(NamedTuple):
    """The fitted decision; see `docs/developers/inference.md`."""

    values: Mapping[str, float]
    priors: Mapping[str, float]
    threshold: float


_LIMITS = (
    "Distributions that no source file imports (plugins found by entry point, data packages, command-line tools) "
    "leave no trace and are missing.",
    "Versions are not inferred: an import does not show which release it was written for.",
    "Extras of a dependency (name[extra]) are not inferred.",
)


@cache
def weights() -> Weights:
    """Load the fitted decision that ships with the package."""
    text = files("groundup_infer").joinpath("data/python_weights.json").read_text(encoding="utf-8")
    loaded = json.loads(text)
    return Weights(loaded["weights"], loaded["priors"], loaded["threshold"])


def infer_python(tree: SourceFiles) -> Inference:
    """Infer the dependencies of the Python part of *tree*."""
    if folder := enclosing_folder(tree):
        return _placed(infer_python(below(tree, folder)), folder)
    if projects := projects_below(tree) if tree.whole else {}:
        return _together(tree, projects)
    fitted = weights()
    found = collect(tree, fitted.priors)
    stubs = _describes_another(found.layout)
    dependencies = [
        _judge(
            candidate, fitted, tree.whole, described=stubs and not candidate.name.startswith(("typing", "types-"))
        )
        for candidate in found.candidates
    ]
    parts = [item for item in dependencies if _is_unknown_part(item)]
    return Inference(
        language="python",
        dependencies=_in_order(item for item in dependencies if item not in parts),
        unknown=tuple(
            sorted(
                {
                    module
                    for item in dependencies
                    if not item.known and item not in parts
                    for module in item.imported
                }
                | {evidence.imported for item in parts for evidence in item.evidence}
            )
        ),
        local=found.layout.roots,
        requires_python=found.requires_python,
        files=found.files,
        cannot_know=_LIMITS,
    )


def _together(tree: SourceFiles, projects: Mapping[str, PythonLayout]) -> Inference:
    """Infer each project by itself; what one of them needs of another is the repository's own."""
    parts = []
    for folder in (*projects, ""):
        inside = below(tree, folder) if folder else outside(tree, projects)
        if any(source.suffix in READ["python"] for source in inside.sources):
            beside = modules_beside(projects, folder) | dict(tree.beside)
            inferred = infer_python(inside._replace(beside=beside))
            parts.append(_placed(inferred, folder) if folder else inferred)
    own = {layout.project.name for layout in projects.values()}
    by_name: dict[str, list[InferredDependency]] = defaultdict(list)
    for part in parts:
        for item in part.dependencies:
            if item.name not in own:
                by_name[item.name].append(item)
    oldest = {part.requires_python for part in parts if part.requires_python}
    return parts[0].but(
        dependencies=_in_order(map(_merged, by_name.values())),
        unknown=tuple(sorted({one for part in parts for one in part.unknown})),
        local=tuple(sorted({one for part in parts for one in part.local})),
        requires_python=max(oldest, key=lambda one: int(one.rpartition(".")[2]), default=None),
        files=sum(part.files for part in parts),
    )


def _merged(items: Sequence[InferredDependency]) -> InferredDependency:
    """Return one for a package of several projects: the kind that asks for most, its evidence first."""
    first, *others = sorted(items, key=_kind_order)
    sure = [item.confidence for item in items if item.confidence is not None]
    return first.but(
        marker=first.marker if all(item.marker == first.marker for item in others) else "",
        imported=tuple(sorted({name for item in items for name in item.imported})),
        confidence=max(sure, default=None),
        evidence=tuple(one for item in (first, *others) for one in item.evidence)[:EVIDENCE_KEPT],
        uses=sum(item.uses for item in items),
    )


def _kind_order(item: InferredDependency) -> int:
    return list(InferredKind).index(item.kind)


def _in_order(items: Iterable[InferredDependency]) -> tuple[InferredDependency, ...]:
    return tuple(sorted(items, key=lambda item: (_kind_order(item), item.name)))


def _placed(found: Inference, folder: str) -> Inference:
    """Return what was found in *folder*, with paths as the repository has them."""
    return found.but(
        dependencies=tuple(
            item.but(evidence=tuple(one.but(path=f"{folder}/{one.path}") for one in item.evidence))
            for item in found.dependencies
        )
    )


def _is_unknown_part(item: InferredDependency) -> bool:
    """Whether nobody is known to provide a part of a root that unrelated distributions share.

    Its first two words are then no name: `soda.common` is in soda-core.
    """
    spelled = {normalised(".".join(one.imported.split(".")[:2])) for one in item.evidence}
    return not item.known and NAMESPACES.issuperset(item.imported) and item.name in spelled


def _describes_another(layout: PythonLayout) -> bool:
    """Whether the package is stubs: most modules have one beside them. What they describe, their users install."""
    modules = [path for path in layout.names if path.endswith(".py")]
    return 2 * sum(f"{path}i" in layout.places for path in modules) > max(len(modules), 3)


def _judge(
    candidate: DistributionCandidate, fitted: Weights, whole: bool, *, described: bool
) -> InferredDependency:
    score = sum(fitted.values.get(name, 0.0) * value for name, value in candidate.features.items())
    confidence = 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))
    uses = sorted(candidate.uses, key=_strength)
    markers = {use.item.marker for use in uses if use.place is SourcePlace.PACKAGE}
    if whole:
        kind = InferredKind.RUNTIME if confidence >= fitted.threshold and not described else _lesser(uses)
    else:
        kind = InferredKind.RUNTIME if any(is_eager(use.item) for use in uses) else InferredKind.OPTIONAL
    return InferredDependency(
        name=candidate.name,
        kind=kind,
        marker=next(iter(markers)) if len(markers) == 1 else "",
        imported=tuple(sorted({use.item.module.partition(".")[0] for use in uses})),
        confidence=round(confidence, 3) if whole else None,
        known=candidate.known,
        evidence=tuple(_evidence(use) for use in uses[:EVIDENCE_KEPT]),
        uses=len(uses),
    )


def _lesser(uses: list[ImportUse]) -> InferredKind:
    places = {use.place for use in uses}
    if SourcePlace.PACKAGE in places:
        typing_only = all(Manner.TYPING in use.item.manners for use in uses if use.place is SourcePlace.PACKAGE)
        return InferredKind.DEV if typing_only else InferredKind.OPTIONAL
    if SourcePlace.SCRIPT in places:
        return InferredKind.OPTIONAL
    return InferredKind.BUILD if places == {SourcePlace.BUILD} else InferredKind.DEV


_PLACES = list(SourcePlace)


def _strength(use: ImportUse) -> tuple[int, int, int, int, str, int]:
    eager = 0 if is_eager(use.item) else 1
    return (_PLACES.index(use.place), eager, -use.reach, use.depth, use.path, use.item.line)


def _evidence(use: ImportUse) -> Evidence:
    return Evidence(
        path=use.path,
        line=use.item.line,
        imported=use.item.module,
        place=use.place,
        manners=tuple(sorted(use.item.manners)),
        reached=use.reach >= Reach.ENTRY if use.place is SourcePlace.PACKAGE else None,
    )
