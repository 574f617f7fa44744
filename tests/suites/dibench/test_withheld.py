"""What registries refuse while a repository's dependencies are inferred."""

from groundup.suites.dibench.dataset import InstanceSet
from groundup.suites.dibench.own_names import withheld_names


def test_a_python_repository_withholds_itself(dataset: InstanceSet) -> None:
    """The published metadata of the project would tell its dependencies, so its names are refused."""
    names = {problem.id: withheld_names(problem) for problem in dataset.problems}
    assert "alpha" in names["one_alpha"]


def test_other_languages_withhold_what_their_build_files_name(dataset: InstanceSet) -> None:
    """A repository's own crate, npm package or NuGet package is refused as well, and nothing else."""
    names = {problem.id: withheld_names(problem) for problem in dataset.problems}
    assert names["two_beta"] == ("beta",)
    assert names["three_gamma"] == ("gamma",)
    assert names["four_delta"] == ("App",)
