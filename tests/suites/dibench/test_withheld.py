"""What registries refuse while a repository's dependencies are inferred."""

from groundup.suites.dibench.dataset import InstanceMetadata, InstanceSet
from groundup.suites.dibench.registry_check import withheld_names


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


def test_an_id_of_a_set_withholds_a_name_that_registries_know(dataset: InstanceSet) -> None:
    """The id of a folder's instance has its commit, too, and no registry has a project of that name."""
    problem = next(one for one in dataset.problems if one.instance.language == "python")
    instance = problem.instance.but(instance_id="my-lib@0123456789ab", metadata=InstanceMetadata())
    names = withheld_names(problem.but(instance=instance))
    assert "my-lib" in names
    assert not [name for name in names if "@" in name]
