"""One question for all languages: which dependencies does this source speak for?"""

from collections.abc import Callable, Collection
from pathlib import Path

from groundup.sources.files import READ, STYLES, SourceFiles, read_tree
from groundup_infer.csharp import infer_csharp
from groundup_infer.javascript_inference import infer_javascript
from groundup_infer.python_inference import infer_python
from groundup_infer.records import Inference, Language
from groundup_infer.rust import infer_rust

INFERERS: dict[Language, Callable[[SourceFiles], Inference]] = {
    "python": infer_python,
    "rust": infer_rust,
    "javascript": infer_javascript,
    "csharp": infer_csharp,
}
"""Language -> what infers its dependencies."""


def infer(path: Path, languages: Collection[str] | None = None) -> tuple[Inference, ...]:
    """Infer from a repository, a source file, a notebook or a diff, one answer per language found.

    Declarations of dependencies are never read. Raises `UsageError` when *path* holds nothing to read.
    """
    return infer_tree(read_tree(path), languages)


def infer_tree(tree: SourceFiles, languages: Collection[str] | None = None) -> tuple[Inference, ...]:
    """Infer from files that are already read."""
    there = {source.suffix for source in tree.sources}.difference(STYLES)  # these alone are no JavaScript
    present = {language for language, suffixes in READ.items() if there.intersection(suffixes)}
    return tuple(
        inferer(tree)
        for language, inferer in INFERERS.items()
        if language in present and (languages is None or language in languages)
    )
