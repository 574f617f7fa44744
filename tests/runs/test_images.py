"""Images of their own for each task: found by name, pinned in the run's lock, kept by what follows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from groundup.domain.errors import SandboxError, TaskError, UsageError
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import Status
from groundup.episodes.backends import Images, backends
from groundup.runs import api
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import RunConfiguration
from groundup.suites.base import AtHand
from groundup.suites.opening import open_suite
from tests.runs.configurations import QUICK, oracle
from tests.runs.toy import ToyProvider

FIRST, SECOND = AttemptKey(task="task-0000"), AttemptKey(task="task-0001")
NAMES = "registry/{task}:1"


@dataclass
class Imaged(ToyProvider):
    """Has the images that a file lists, by name and by digest."""

    listed: Path
    image: str = ""
    closing_s: float = 0

    async def in_image(self, name: str) -> SandboxProvider:
        """Find it."""
        images: dict[str, str] = json.loads(self.listed.read_text())
        found = images.get(name, name)
        if found not in images.values():
            raise SandboxError(f"the image {name} is not here and cannot be pulled")
        return Imaged(self.listed, found)

    def identity(self) -> Mapping[str, str]:
        """Say which it is."""
        return {"toy": "1", **({"image": self.image} if self.image else {})}


def listed(settings: Settings) -> Path:
    """Return the file."""
    return settings.cache_dir.parent / "images.json"


def create(settings: Settings) -> Imaged:
    """Return the provider."""
    return Imaged(listed(settings), settings.image or "")


def in_images(configuration: RunConfiguration) -> RunConfiguration:
    """Return it with an image for each task."""
    return configuration.but(sandbox=f"tests.runs.test_images:create@{NAMES}")


def test_each_task_has_its_image(settings: Settings) -> None:
    """A missing one is an infrastructure failure of its task alone, by name; a resume keeps what is pinned."""
    listed(settings).write_text(json.dumps({"registry/task-0000:1": "sha256:a"}))
    once = QUICK.but(retries=0)
    result = api.NewRun(in_images(oracle()), once, settings, run_id="run").work()
    run = RunFolder(result.folder)
    verdicts = {key: line.verdict for key, line in run.latest().items() if line.verdict}
    assert result.exit_code == 3
    assert [verdicts[key].status for key in (FIRST, SECOND)] == [Status.GRADED, Status.INFRASTRUCTURE]
    assert "no sandbox for task-0001: the image registry/task-0001:1 is not here" in str(verdicts[SECOND])
    assert run.lock().images == {"registry/task-0000:1": "sha256:a"}

    images = {"registry/task-0000:1": "sha256:new", "registry/task-0001:1": "sha256:b", "old": "sha256:a"}
    listed(settings).write_text(json.dumps(images))
    assert api.Resumption(result.folder, once, settings).work().exit_code == 0
    pinned = {"registry/task-0000:1": "sha256:a", "registry/task-0001:1": "sha256:b"}
    assert run.lock().images == pinned
    assert len(run.lock().starts) == 2

    again = api.regrading(result.folder, once, settings, run_id="again").work()
    assert again.exit_code == 0
    assert RunFolder(again.folder).lock().images == pinned


def test_the_image_decides_the_verdict(settings: Settings) -> None:
    """A verdict that was given in one image is not taken from the cache in another."""
    place = settings.cache_dir.parent / "gradings" / FIRST.task
    for image, gradings in (("sha256:a", 1), ("sha256:a", 1), ("sha256:b", 2)):
        images = {f"registry/{key.task}:1": image for key in (FIRST, SECOND)}
        listed(settings).write_text(json.dumps(images))
        api.NewRun(in_images(oracle()), QUICK, settings).work()
        assert len(place.read_text().splitlines()) == gradings


def test_one_image_for_all_is_pinned_as_well(settings: Settings) -> None:
    """Also where its name does not say which one it is."""
    one = oracle().but(sandbox="tests.runs.test_images:create@base")
    result = api.NewRun(one, QUICK, settings, run_id="run").work()
    assert RunFolder(result.folder).lock().images == {"base": "base"}


def test_names_of_images(settings: Settings) -> None:
    """A pattern names tasks in small letters, or what their publishers named; anything else is refused."""
    assert Images("r/{task}:1", {}).named("more-Itertools", None) == "r/more-itertools:1"
    assert Images("r/{published}", {}).named("a", "their/a:1.0") == "r/their/a:1.0"
    with pytest.raises(TaskError, match="no image of a is published"):
        Images("r/{published}", {}).named("a", None)
    with pytest.raises(UsageError, match=r"\{name\} is neither \{task\} nor \{published\}"):
        Images("r/{name}", {}).checked()
    found = {}
    for name in ("nl2repobench", "repogenesis"):
        suite = open_suite(name, settings)
        found[name] = {task.id: AtHand.of(suite).published_image(task) for task in suite.tasks()}
    assert found["nl2repobench"]["more-Itertools"] == "multimodal-art-projection/nl2repobench/more-itertools:1.0"
    assert found["nl2repobench"]["arxiv-mcp-server"] is None
    assert found["repogenesis"]["flask"] == "python:3.10-slim"


async def test_builders_and_agents_have_no_image_of_a_task(settings: Settings) -> None:
    """Published images hold the originals, so only graders get them."""
    listed(settings).write_text(json.dumps({"registry/task-0000:1": "sha256:a"}))
    suite = open_suite("tests.runs.toy:create_two", settings)
    async with backends(f"tests.runs.test_images:create@{NAMES}", settings) as tools:
        inside = await tools.of(suite.tasks()[0], None)
        assert "image" not in tools.provider.identity()
        assert inside.provider.identity()["image"] == "sha256:a"
        assert inside.builder is tools.builder
