"""Which sandbox, builder, image and programs a run has, and every sentence about those that it cannot have."""

from dataclasses import replace
from pathlib import Path

import pytest

from groundup.domain.errors import (
    MachineError,
    NetworkError,
    NoSandboxesError,
    SandboxError,
    TaskError,
    UsageError,
)
from groundup.domain.inventory import Inventory
from groundup.domain.tasks import Task
from groundup.environments.layers import LayerStore
from groundup.episodes.backends import BUILDERS, SANDBOXES, Backends, Images, backends, named, opened_context
from groundup.sandbox import inventory
from groundup.sandbox.rooted import RootedProvider, UnpackedImage
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
        context = found.context(tmp_path / "scratch", 3.0)
        assert (context.provider, context.builder, context.timeout_s) == (found.provider, found.builder, 3.0)
        assert (context.scratch, context.slots) == (tmp_path / "scratch", found.slots)
    async with backends(settings.sandbox, settings.but(agent_base="listed")) as listed:
        assert (listed.base, listed.pinned_base) == ("listed", {"agents' base": "listed"})
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


class Containers(FakeProvider):
    """Has images, by their names and pins."""

    def __init__(self, image: str = "", fault: Exception | None = None) -> None:
        super().__init__()
        self.image = image
        self.fault = fault

    async def in_image(self, image: str) -> "Containers":
        """Return one that has *image*."""
        if self.fault is not None:
            raise self.fault
        return Containers(image)

    def identity(self) -> dict[str, str]:
        """Say which."""
        return {"sandbox": "fake", "image": f"id of {self.image}"}


async def test_a_task_has_the_sandboxes_of_its_own_image(tmp_path: Path) -> None:
    """Where the pattern names one for each; what was pinned is used, and none is asked for twice."""
    task, builder = Task(id="Shop", suite="s", instruction=""), Builder(tmp_path)
    for images in (None, Images("debian:12", {})):
        held = Backends(Containers(), builder, images=images)
        assert await held.of(task, None) is held
    pins: dict[str, str] = {}
    for asked, kept in (("mine/shop", "id of mine/shop"), ("id of mine/shop", "id of id of mine/shop")):
        held = Backends(Containers(), builder, images=Images("mine/{task}", pins))
        inside = await held.of(task, None)
        assert (inside.provider.identity()["image"], inside.images) == (f"id of {asked}", None)
        assert inside.builder is builder
        assert pins == {"mine/shop": kept}


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (SandboxError("no such image"), SandboxError),
        (NoSandboxesError("no room"), MachineError),
        (UsageError("no such image"), MachineError),
    ],
)
async def test_an_image_that_cannot_be_had_names_the_task(
    tmp_path: Path, fault: Exception, kind: type[Exception]
) -> None:
    """And whether another try may help; what is no matter of the sandbox goes on as it is."""
    task = Task(id="Shop", suite="s", instruction="")
    held = Backends(Containers(fault=fault), Builder(tmp_path), images=Images("{task}", {}))
    with pytest.raises(kind) as failed:
        await held.of(task, None)
    assert (type(failed.value), str(failed.value)) == (kind, f"no sandbox for Shop: {fault}")
    held = Backends(Containers(fault=NetworkError("down")), Builder(tmp_path), images=Images("{task}", {}))
    with pytest.raises(NetworkError, match=r"\Adown\Z"):
        await held.of(task, None)


async def test_unpacked_images_are_roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default sandbox has its images as folders: a task's, and the one whose programs agents have."""
    asked: list[tuple[str, str | None]] = []

    async def unpacked(name: str, store: LayerStore, pinned: str | None) -> UnpackedImage:
        asked.append((name, pinned))
        (tmp_path / "root").mkdir(exist_ok=True)
        return UnpackedImage(name=name, digest="sha256:7", root=tmp_path / "root")

    monkeypatch.setattr("groundup.environments.images.unpacked", unpacked)
    monkeypatch.setitem(SANDBOXES.shipped, "bubblewrap", lambda: lambda settings: FakeProvider())
    settings = Settings(cache_dir=tmp_path / "cache", image="{task}", agent_base="debian:12")
    task = Task(id="shop", suite="s", instruction="")
    async with backends("bubblewrap", settings, {"shop": "sha256:7", "debian:12": "sha256:8"}) as held:
        assert held.images is not None
        assert (held.images.unpacked, held.base_image) == (True, ("debian:12", "sha256:7"))
        inside = await held.of(task, None)
        assert isinstance(inside.provider, RootedProvider)
        assert inside.provider.image.name == "shop"
        assert isinstance(held.base, UnpackedImage)
        assert held.inventory() == inventory.image_inventory(held.base)
    assert asked == [("debian:12", "sha256:8"), ("shop", "sha256:7")]


async def test_one_image_for_all_is_the_pinned_one(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider of containers is opened with it; where tasks differ, with none."""
    opened: list[str | None] = []

    def create(settings: Settings) -> FakeProvider:
        opened.append(settings.image)
        return FakeProvider()

    monkeypatch.setitem(SANDBOXES.shipped, "docker", lambda: create)
    for image, pins in (("a", None), ("a", {"a": "id"}), ("{task}", None), (None, None)):
        async with backends("docker", settings.but(image=image), pins) as held:
            assert held.slots.at_once >= 1
    async with backends("docker@b", settings.but(image="a")):
        pass
    assert opened == ["a", "id", None, None, "b"]


async def test_programs_of_agents_are_listed_by_base(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's, the listed ones, or none where a container's image decides."""
    ours, listed = (Inventory(origin=name, digest="sha256:0", programs={}) for name in ("ours", "listed"))
    monkeypatch.setattr(inventory, "host_inventory", lambda: ours)  # which asks hundreds of programs
    monkeypatch.setattr(inventory, "listed_inventory", lambda: listed)
    async with backends(settings.sandbox, settings) as held:
        assert (held.base, held.inventory()) == ("host", ours)
    async with backends(settings.sandbox, settings.but(agent_base="listed")) as held:
        assert (held.base, held.inventory()) == ("listed", listed)
    unpacked = replace(held, images=Images("{task}", {}, unpacked=True))
    assert unpacked.inventory() == listed
    assert replace(held, images=Images("a", {})).inventory() is None


def test_what_ships_is_found_by_name() -> None:
    """Three sandboxes and a builder."""
    found = {name: SANDBOXES.find(name) for name in SANDBOXES.shipped}
    made = {name: f"{one.__module__}.{one.__name__}" for name, one in found.items()}
    assert made == {
        "bubblewrap": "groundup.sandbox.bubblewrap.create",
        "docker": "groundup.sandbox.containers.provider.create_docker",
        "podman": "groundup.sandbox.containers.provider.create_podman",
    }
    assert BUILDERS.find("local").__module__ == "groundup.environments.local"
