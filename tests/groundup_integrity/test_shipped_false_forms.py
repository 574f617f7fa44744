"""The false forms of the shipped recipes' tests, of those whose originals are on this machine."""

import warnings

import pytest

from groundup.environments.layers import layer_store
from groundup.environments.sources import present_source
from groundup.settings import load
from groundup.suites.nl2repobench.recipe import shipped_recipes
from groundup_integrity.false_forms import FalseForms, suite_of
from tests.needs import lack


@pytest.mark.parametrize("name", shipped_recipes())
def test_every_false_form_is_python(name: str) -> None:
    """A check of an honest submission never fails for what groundup made of a test."""
    recipe = shipped_recipes()[name]
    layer = present_source(recipe.source.request(), layer_store(load()))
    if layer is None:
        lack("originals", f"that of {name} is not in the cache")
    tailed = () if recipe.twin is None else recipe.twin.tailed
    suite = suite_of(layer.path, recipe.tests.protected, recipe.expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the originals' own escapes
        for seed in ("one", "two"):
            forms = FalseForms(suite, seed, tailed)
            keys = [key for key in recipe.expected if forms.can_be_false(key)]
            changed = {**forms.falsified(keys).changed, **forms.failing_at_ends(keys)}
            assert bool(changed) == bool(keys)
            for path, text in changed.items():
                compile(text, path, "exec", dont_inherit=True)
