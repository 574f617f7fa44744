"""Small repositories for the tests of inference."""

import tempfile
from pathlib import Path

from groundup.sources.files import SourceFiles, read_tree
from groundup_infer.inference import infer_tree
from groundup_infer.records import Inference, InferredKind


def tree_of(files: dict[str, str]) -> SourceFiles:
    """Read *files* as a repository."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            place = Path(folder) / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content, encoding="utf-8")
        return read_tree(Path(folder))


def inferred(language: str, files: dict[str, str]) -> Inference:
    """Infer from *files* for one language."""
    (found,) = infer_tree(tree_of(files), (language,))
    return found


def names(found: Inference, *kinds: InferredKind) -> set[str]:
    """Return the names of the dependencies of these kinds."""
    return {item.name for item in found.of_kind(*kinds)}
