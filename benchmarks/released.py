"""What the package index has of originals that are Git commits, found by comparing files.

python -m benchmarks.released TASK... [--write]    which files no upload has; the recipe gets what all have

Every file of its tests and packages must be the commit's, byte for byte, or become it by rules (`trees/edits.py`),
and so must what builds it. A `setup.cfg` that setuptools wrote again counts where it says the same.
"""

import asyncio
import configparser
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from packaging.version import Version

from groundup.domain.errors import TaskError
from groundup.environments.requests import GitSource, ReleasedFiles, SourceRequest, Upload
from groundup.environments.sources import fill_released
from groundup.episodes.backends import opened_context
from groundup.grading.context import GradingContext
from groundup.settings import Settings, load
from groundup.suites.nl2repobench.published_image import graded_edits
from groundup.suites.nl2repobench.recipe import Recipe, RepositorySource, shipped_recipes
from groundup.trees.digest import entry_digests, tree_digest
from groundup.trees.edits import FileEdit, RuleError, Step, applied, sha256_of

_BUILD_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
_SETUP = "setup.cfg"
_WRITTEN_BY_SETUPTOOLS = "[egg_info]"


class Found(NamedTuple):
    """What uploads have of a commit."""

    lost: tuple[str, ...]
    """Files that matter and that no upload has."""
    released: ReleasedFiles | None
    """None: some are lost."""


async def looked_up(recipe: Recipe, context: GradingContext, settings: Settings) -> Found:
    """Compare the commit of *recipe* with the release of its version, or the last one before, and the next.

    Edits that the recipe has are tried again. Raises `TaskError` for an original that is no commit, or has no
    release, `NetworkError`, and as the environment builder.
    """
    request = recipe.source_request()
    if not isinstance(request, GitSource):
        raise TaskError(f"the original {recipe.source.label} comes from the package index already")
    commit = (await context.builder.source(request.but(released=None))).path
    name = recipe.source.name if recipe.tests.distribution is None else recipe.tests.distribution.name
    from groundup_factory.recipes.candidates import fetched, open_index, releases

    async with open_index(settings) as registry:
        known = [one for one in (await releases(registry, name)).values() if one.source is not None]
        near = [one for one in known if Version(one.version) <= Version(recipe.source.version)][-1:]
        near += [one for one in known if Version(one.version) > Version(recipe.source.version)][:1]
        if not near:
            raise TaskError(f"the package index has no source distribution of {name}")
        uploads = {}
        for one in near:
            assert one.source is not None
            _, sha256 = await fetched(registry, one.source)
            upload = SourceRequest(name=name, version=one.version, sha256=sha256)
            uploads[upload] = (await context.builder.source(upload)).path
    edits = {} if request.released is None else request.released.edits
    room = context.scratch / f"released-{recipe.task}"
    await asyncio.to_thread(room.mkdir)
    steps = {path: edit.steps for path, edit in edits.items()}
    return await asyncio.to_thread(released_files, recipe, commit, uploads, steps, room)


def files_that_matter(recipe: Recipe, commit: Path) -> list[str]:
    """Return the files of *commit* that tests, packages and builds of *recipe* need."""
    tests = recipe.tests
    packages = [
        (PurePosixPath(root) / package.replace(".", "/")).as_posix()
        for root in tests.import_roots
        for package in tests.packages
    ]
    roots = [*tests.protected, *packages, *(f"{package}.py" for package in packages)]
    roots += [*_BUILD_FILES, *recipe.edits, *graded_edits(recipe.image)]
    return [path for path in sorted(entry_digests(commit)) if _is_below(path, roots)]


def _is_below(path: str, roots: Iterable[str]) -> bool:
    return any(path == root or PurePosixPath(path).is_relative_to(root) for root in roots)


def released_files(
    recipe: Recipe,
    commit: Path,
    uploads: Mapping[SourceRequest, Path],
    steps: Mapping[str, Sequence[Step]],
    room: Path,
) -> Found:
    """Compare the tree *commit* with the unpacked *uploads*, and put what they have of it into the folder *room*.

    *steps*: path -> rules that make an upload's file the commit's.
    """
    theirs = entry_digests(commit)
    matter = files_that_matter(recipe, commit)
    have = {upload: _as_in(commit, path, theirs, steps) for upload, path in uploads.items()}
    order = sorted(uploads, key=lambda upload: sum(path not in have[upload] for path in matter))
    missing = [path for path in matter if path not in have[order[0]]]
    parts: dict[SourceRequest, tuple[str, ...]] = {order[0]: ()}
    for upload in order[1:]:
        found = [path for path in missing if path in have[upload]]
        missing = [path for path in missing if path not in found]
        if found:
            parts[upload] = tuple(found)
    if missing:
        return Found(tuple(missing), None)
    taken = {path: upload for upload in parts for path in parts[upload] or have[upload]}
    edits = {path: edit for path, upload in taken.items() if (edit := have[upload][path]) is not None}
    base = entry_digests(uploads[order[0]])
    foreign = {path for path in base if path not in taken}
    draft = ReleasedFiles(
        tree_digest="sha256:" + "0" * 64,
        uploads={
            f"{one.name}=={one.version}": Upload(sha256=one.sha256, files=files) for one, files in parts.items()
        },
        without=tuple(_folded(foreign, {*taken})),
        edits=edits,
    )
    fill_released(room, [(uploads[one], files) for one, files in parts.items()], draft)
    return Found((), draft.but(tree_digest=tree_digest(room).digest))


def _as_in(
    commit: Path, upload: Path, theirs: Mapping[str, bytes], steps: Mapping[str, Sequence[Step]]
) -> dict[str, FileEdit | None]:
    """Return the files of *upload* that are those of *commit*, or become them by an edit."""
    found: dict[str, FileEdit | None] = {}
    for path, digest in entry_digests(upload).items():
        if theirs.get(path) == digest:
            found[path] = None
        elif path in theirs and (commit / path).is_file() and (upload / path).is_file():
            wanted, content = (commit / path).read_bytes(), (upload / path).read_bytes()
            for rules in _rules(path, steps):
                if _becomes(content, rules, wanted):
                    found[path] = FileEdit(sha256=sha256_of(wanted), steps=tuple(rules))
                    break
            else:
                if path == _SETUP and _settings(content) == _settings(wanted):
                    found[path] = None
    return found


def _rules(path: str, steps: Mapping[str, Sequence[Step]]) -> Iterator[Sequence[Step]]:
    own = steps.get(path, ())
    if path == _SETUP:
        yield (("drop-section", _WRITTEN_BY_SETUPTOOLS), *own)
    if own:
        yield own


def _becomes(content: bytes, rules: Sequence[Step], wanted: bytes) -> bool:
    try:
        return applied(content, rules) == wanted
    except RuleError:
        return False


def _settings(content: bytes) -> dict[str, dict[str, list[str]]] | None:
    """Return what a `setup.cfg` says, without what setuptools adds to that of a source distribution."""
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(content.decode())
    except (configparser.Error, UnicodeDecodeError):
        return None
    return {
        name: {key: [line.strip() for line in value.strip().splitlines()] for key, value in parser.items(name)}
        for name in parser.sections()
        if f"[{name}]" != _WRITTEN_BY_SETUPTOOLS
    }


def _folded(foreign: set[str], kept: set[str]) -> list[str]:
    """Return *foreign* paths, each folder that holds nothing of *kept* as one."""
    alive = {str(above) for path in kept for above in PurePosixPath(path).parents}
    folded = set()
    for path in foreign:
        above = [str(one) for one in reversed(PurePosixPath(path).parents) if str(one) not in alive]
        folded.add(above[0] if above else path)
    return sorted(folded)


RECIPES = Path(__file__).parents[1] / "src" / "groundup" / "suites" / "nl2repobench" / "recipes"


async def main(arguments: Sequence[str]) -> None:
    """Print what is found of each task, and write it into the recipes where that is asked."""
    from groundup_factory.recipes.files import recipe_text

    settings = load()
    async with opened_context(settings) as context:
        for recipe in (shipped_recipes()[name] for name in arguments if name != "--write"):
            lost, released = await looked_up(recipe, context, settings)
            print(recipe.task, f"no upload has {', '.join(lost)}" if lost else "all that matters")
            if released is not None and "--write" in arguments:
                assert isinstance(recipe.source, RepositorySource)
                again = recipe.but(source=recipe.source.but(released=released))
                (RECIPES / f"{recipe.task}.toml").write_text(recipe_text(again), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
