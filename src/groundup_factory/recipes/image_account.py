"""What a published image that is at hand holds, as the account of a recipe: its `[image]`.

Each file is compared with the original's: the same, with Windows' line ends, made by the rules that the recipe
already names, different, the publishers' own, empty, or absent.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from groundup.domain.errors import TaskError
from groundup.domain.names import printable
from groundup.sandbox.protocol import WORKSPACE
from groundup.sandbox.rooted import UnpackedImage
from groundup.suites.nl2repobench.official_rules import PACKAGE_FILES
from groundup.suites.nl2repobench.published_image import NOTHING_KNOWN, PublishedFiles, PublishedImage
from groundup.suites.nl2repobench.recipe import PublishedRun, Recipe
from groundup.trees.edits import crlf, sha256_of
from groundup.trees.walking import read_regular


def account_of(image: UnpackedImage, recipe: Recipe, original: Path) -> PublishedImage:
    """Return what *image* holds at /workspace, beside *original*: the tree of its revision. Raises `TaskError`."""
    workspace, run = image.root / WORKSPACE.strip("/"), recipe.published
    if run is None or not workspace.is_dir():
        raise TaskError(
            f"{recipe.task}: the recipe names no published commands, or {image.name} has no {WORKSPACE}"
        )
    known = recipe.image or NOTHING_KNOWN
    theirs, ours = _of_kinds(workspace, run, run.moved), _of_kinds(original, run, {})
    return known.but(
        digest=image.digest,
        tests=_files(theirs["test"], ours["test"], known.tests, all_named=False),
        packages=_files(theirs["package"], ours["package"], known.packages, all_named=True),
    )


def account_changes(before: PublishedImage, after: PublishedImage) -> Iterator[str]:
    """Yield which files the account *before* has as something else than *after*, which an image showed."""
    for kind, old, new in (("test", before.tests, after.tests), ("package", before.packages, after.packages)):
        was = {path: (standing, digest) for path, standing, digest in old.standings()}
        now = {path: (standing, digest) for path, standing, digest in new.standings()}
        for path in sorted(was.keys() | now.keys()):
            if old.all_named and path not in was and now[path][0] == "absent":
                continue  # the recipe says so, too: it names all that are there
            before_it, after_it = was.get(path, ("unknown", ""))[0], now.get(path, ("not there", ""))[0]
            same_bytes = not was.get(path, ("", ""))[1] or was.get(path) == now.get(path)
            if before_it != after_it or not same_bytes:
                yield f"{kind} file {printable(path)}: {before_it} in the recipe, {after_it} in the image"


def _of_kinds(root: Path, run: PublishedRun, moved: Mapping[str, str]) -> dict[str, dict[str, bytes]]:
    """Return the tests and the package files below *root*, by the paths that the original has."""
    found: dict[str, dict[str, bytes]] = {"test": {}, "package": {}}
    places = [(place.rstrip("/"), moved.get(place.rstrip("/"), place.rstrip("/"))) for place in run.test_files]
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file() or "__pycache__" in path.parts:
            continue
        name = str(path.relative_to(root))
        for here, there in [*places, *((there, there) for _, there in places)]:
            if name == here or name.startswith(f"{here}/"):
                found["test"][f"{there}{name.removeprefix(here)}"] = read_regular(path)
                break
        else:
            if path.name in PACKAGE_FILES and ".git" not in path.parts:
                found["package"][name] = read_regular(path)
    return found


def _files(
    theirs: Mapping[str, bytes], ours: Mapping[str, bytes], known: PublishedFiles, *, all_named: bool
) -> PublishedFiles:
    same, ends, edited, differs, added, empty = {}, {}, {}, {}, {}, []
    for path, content in theirs.items():
        digest, original = sha256_of(content), ours.get(path)
        if original is None and not content:
            empty.append(path)
        elif original is None:
            added[path] = digest
        elif original == content:
            same[path] = digest
        elif crlf(original) == content:
            ends[path] = digest
        elif path in known.edited and known.edited[path].sha256 == digest:
            edited[path] = known.edited[path]
        else:
            differs[path] = digest
    return PublishedFiles(
        same=same,
        crlf=ends,
        edited=edited,
        differs=differs,
        added=added,
        empty=tuple(empty),
        absent=tuple(sorted(ours.keys() - theirs.keys())),
        all_named=all_named,
    )
