"""Which sandbox, builder, image and programs a run has, and every sentence about those that it cannot have."""

from pathlib import Path

import pytest

from groundup.domain.errors import TaskError, UsageError
from groundup.episodes.backends import Backends, Images, backends, named, opened_context
from groundup.sandbox.rooted import UnpackedImage
from groundup.settings import Settings
from tests.episodes.theatre import Builder
from tests.sandbox.fake import FakeProvider

UNPACKED = UnpackedImage(name="debian:12", digest="sha256:1", root=Path("/r"))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A fake sandbox and builder."""
    return Settings(
        cache_dir=tmp_path / "cache",
        sandbox="tests.serving.house:create_provider",
        builder="tests.serving.house:create_builder",
    )


@pytest.mark.parametrize(
    ("pattern", "task", "published", "name"),
    [
        ("debian:12", "Shop", None, "debian:12"),
        ("mine/{task}:1", "Shop", None, "mine/shop:1"),
        ("{published}", "Shop", "hub/Shop:2", "hub/Shop:2"),
        ("{task}-{published}-{task}", "A", "b", "a-b-a"),
    ],
)
def test_a_pattern_names_images(pattern: str, task: str, published: str | None, name: str) -> None:
    """A task's name in small letters, what is published as it is."""
    images = Images(pattern, {})
    assert images.checked() is images
    assert images.named(task, published) == name
    assert images.differ == ("{" in pattern)
    assert Images(pattern, {}, unpacked=True).differ


def test_patterns_that_name_nothing_are_refused() -> None:
    """Before anything is opened, or when it is the task's turn."""
    with pytest.raises(UsageError) as refused:
        Images("a/{name}", {}).checked()
    assert str(refused.value) == "--image a/{name}: {name} is neither {task} nor {published}"
    with pytest.raises(TaskError) as missing:
        Images("{published}", {}).named("shop", None)
    assert str(missing.value) == "no image of shop is published; leave the task out, or name one by {task}"


def test_an_image_is_pinned_once() -> None:
    """As it was when the run began with it."""

    class Provider(FakeProvider):
        found = "sha256:1"

        def identity(self) -> dict[str, str]:
            return {"image": self.found}

    kept: list[tuple[str, str]] = []
    images, provider = Images("{task}", {}, lambda *pin: kept.append(pin)), Provider()
    images.pin("a", provider)
    provider.found = "sha256:2"
    images.pin("a", provider)
    images.pin("b", provider)
    assert kept == [("a", "sha256:1"), ("b", "sha256:2")]
    assert images.pins == dict(kept)


@pytest.mark.parametrize(
    ("sandbox", "parts"),
    [
        ("docker", ("docker", None)),
        ("docker@python:3.10@x", ("docker", "python:3.10@x")),
        ("docker@", ("docker", None)),
    ],
)
def test_a_sandbox_may_name_an_image(sandbox: str, parts: tuple[str, str | None]) -> None:
    """Behind the first @."""
    assert named(sandbox) == parts


async def test_what_is_open_says_what_it_is(settings: Settings, tmp_path: Path) -> None:
    """Tools with their versions, the programs of agents, and what a resumed run must have again."""
    async with backends(settings.sandbox, settings) as found:
        assert found.identity() == {**found.builder.identity(), "sandbox": "fake"}
        assert (found.images, found.base, found.base_image, found.pinned_base) == (None, "host", None, {})
        inventory = found.inventory()
        assert inventory is not None
        context = found.context(tmp_path / "scratch", 3.0)
        assert (context.provider, context.builder, context.timeout_s) == (found.provider, found.builder, 3.0)
        assert (context.scratch, context.slots) == (tmp_path / "scratch", found.slots)
    async with backends(settings.sandbox, settings.but(agent_base="listed")) as listed:
        assert (listed.base, listed.pinned_base) == ("listed", {"agents' base": "listed"})
        fewer = listed.inventory()
        assert fewer is not None
        assert fewer != inventory
    async with backends(settings.sandbox, settings.but(image="debian:12")) as inside:
        assert inside.images is not None
        assert (inside.images.pattern, inside.images.unpacked, inside.images.differ) == ("debian:12", False, False)
        assert inside.inventory() is None
    async with opened_context(settings) as context:
        assert context.scratch.is_dir()
        assert context.timeout_s is None
    assert not context.scratch.exists()


def test_an_unpacked_base_is_pinned_by_its_digest(tmp_path: Path) -> None:
    """Whatever it is called."""
    held = Backends(FakeProvider(), Builder(tmp_path), base=UNPACKED)
    assert (held.base_image, held.pinned_base) == (("debian:12", "sha256:1"), {"agents' base": "sha256:1"})


async def test_images_that_a_sandbox_cannot_have_are_refused(settings: Settings, tmp_path: Path) -> None:
    """With what to do instead."""
    saved = tmp_path / "saved.tar"
    saved.touch()
    sandbox = settings.sandbox
    for changed, says in (
        (
            settings.but(image=str(saved)),
            f"--image {saved}: `--sandbox {sandbox}` takes an image's name;"
            " leave it out for what `docker save` wrote",
        ),
        (settings.but(image="a{b}"), "--image a{b}: {b} is neither {task} nor {published}"),
        (
            settings.but(agent_base="debian:12"),
            f"--agent-base debian:12: `--sandbox {sandbox}` has its --image's programs; name that image",
        ),
    ):
        with pytest.raises(UsageError) as refused:
            async with backends(sandbox, changed):
                pass
        assert str(refused.value) == says
