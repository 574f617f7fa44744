"""What registries refuse to an agent that writes an original anew."""

from packaging.utils import canonicalize_name

from groundup.suites.nl2repobench.published import withheld_names
from groundup.suites.nl2repobench.recipe import own_names, shipped_recipes
from groundup.suites.nl2repobench.suite import Nl2RepoBench


def test_every_shipped_task_withholds_its_original() -> None:
    """The distribution that the original was fetched as is never given to an agent that writes it."""
    suite = Nl2RepoBench(shipped_recipes())
    for task in suite.tasks():
        withheld = {canonicalize_name(name) for name in suite.withheld(task)}
        assert {canonicalize_name(name) for name in own_names(shipped_recipes()[task.id])} <= withheld


def test_forks_and_other_names_are_withheld() -> None:
    """A fork with the same code, or the same project under another name, is no way around."""
    assert {"docopt", "docopt-ng"} <= set(withheld_names("docopt-ng", shipped_recipes()["docopt-ng"]))
    assert "thefuzz" in withheld_names("fuzzywuzzy", None)
    assert "phe" in withheld_names("paillier", None)


def test_an_id_of_a_set_withholds_a_name_that_registries_know() -> None:
    """An id names owner and version, too, and no registry has a project of that name."""
    assert withheld_names("importlib-resources@7.1.0", None) == ("importlib-resources",)
    assert withheld_names("Suor__funcy@5f23815f224e", None) == ("funcy",)
