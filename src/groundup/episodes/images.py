"""The published image in which an agent works, without the original."""

from groundup.environments.image_removal import image_for_agents
from groundup.environments.layers import layer_store
from groundup.episodes.attempt import Grading
from groundup.sandbox.rooted import RootedProvider, UnpackedImage
from groundup.suites.base import ForAgents


async def image_of_agents(grading: Grading) -> UnpackedImage | None:
    """Return the image of *grading*'s task without its original; None where agents work in the usual sandbox.

    They do without the image, with an empty environment, and without the original's prints, for then
    nobody could say what is left of it. Raises as `Backends.of` and `image_for_agents` do.
    """
    images, told = grading.backends.images, ForAgents.of(grading.suite)
    original = told.fingerprint(grading.task)
    if images is None or not images.unpacked or original is None:
        return None
    if told.agent_environment(grading.task) is None:
        return None
    provider = (await grading.inside()).backends.provider
    assert isinstance(provider, RootedProvider), "the image is unpacked"
    names = tuple(sorted(told.withheld(grading.task)))
    return await image_for_agents(provider.image, original, names, layer_store(grading.backends.settings))
