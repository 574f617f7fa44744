"""The graders of NL2RepoBench, made from what the suite has read."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from groundup.suites.base import Grader
from groundup.suites.nl2repobench.freshening import own_fresh
from groundup.suites.nl2repobench.official import Installs, NL2RepoOfficialGrader
from groundup.suites.nl2repobench.published import PublishedTask
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.suites.nl2repobench.strict import NL2RepoFullGrader, NL2RepoStrictGrader

__all__ = ["Installs", "graders_of"]


def graders_of(
    recipes: Mapping[str, Recipe],
    published: Mapping[str, PublishedTask],
    installs: Installs,
    fresh_folder: Path | None,
) -> Mapping[str, Grader]:
    """Return the graders by name; in *fresh_folder* lie this machine's own fresh inputs."""
    official = NL2RepoOfficialGrader(recipes, published, installs)
    fresh = partial(own_fresh, fresh_folder)
    strict = NL2RepoStrictGrader(recipes, fresh)
    full = NL2RepoFullGrader(recipes, fresh)
    return {grader.name: grader for grader in (strict, full, official)}
