"""Tasks for Harbor: what the folders say, and what agents' images must not hold."""

import asyncio
import gzip
import json
import subprocess
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest

from groundup.domain.errors import UsageError
from groundup.episodes.backends import backends
from groundup.runs.plan import make_plan
from groundup.settings import Settings
from groundup.store.records import RunConfiguration, Served
from groundup_bridges import verifier
from groundup_bridges.harbor_export import HarborExport, HarborOptions, TaskImages
from groundup_bridges.images import ImageStore, LayerFiles
from tests.groundup_bridges.toys import SECRET, SUITE

CONFIGURATION = RunConfiguration(suite=SUITE, submissions=Served(), tasks=("task-0000",))


async def exported(root: Path, suite: str = SUITE, **options: Any) -> Path:
    """Write the first task of *suite*, in images without a system."""
    settings = Settings(
        cache_dir=root / "cache",
        sandbox="tests.serving.house:create_provider",
        builder="tests.groundup_bridges.toys:create_builder",
    )
    plan = make_plan(CONFIGURATION.but(suite=suite), settings)
    scratch = root / "tasks" / "scratch"
    scratch.mkdir(parents=True)

    def nothing(files: LayerFiles) -> None:
        files.folder("usr")

    async with backends(settings.sandbox, settings) as tools:
        with ImageStore(root / "tasks" / "images") as store:
            given = HarborOptions(**options)
            images = TaskImages(suite, tools, store, None, nothing, nothing)
            made = HarborExport(plan, images, given, root / "tasks", scratch)
            folder = await made.write(plan.tasks["task-0000"])
    assert list(scratch.iterdir()) == []
    return folder


def contents(layout: Path) -> bytes:
    """Return all layers, unpacked."""
    (image,) = json.loads((layout / "manifest.json").read_text())
    return b"".join(gzip.decompress((layout / name).read_bytes()) for name in image["Layers"])


async def test_the_agents_image_holds_the_seeds_and_no_answer(tmp_path: Path) -> None:
    """Original and grader lie in the verifier's image alone, where guests cannot read them."""
    folder = await exported(tmp_path)
    agents, graders = contents(folder / "environment"), contents(folder / "tests")
    assert b"workspace/README" in agents
    assert b"Write it." in agents
    assert SECRET.encode() not in agents
    assert b"job.json" not in agents
    assert SECRET.encode() in graders
    assert verifier.JOB.lstrip("/").encode() in graders
    assert b"tests/test.sh" in graders
    modes: dict[str, int] = {}
    for layer in (folder / "tests").glob("blobs/sha256/*"):
        if layer.read_bytes().startswith(b"\x1f\x8b"):
            with tarfile.open(layer) as files:
                modes |= {one.name: one.mode for one in files}
    assert modes[verifier.PRIVATE.lstrip("/")] == 0o700


async def test_the_task_names_both_images_and_reaches_nothing(tmp_path: Path) -> None:
    """The verifier is apart, gets the workspace as artifact, and neither side has a network."""
    folder = await exported(tmp_path)
    document = tomllib.loads((folder / "task.toml").read_text())
    (agents,) = json.loads((folder / "environment" / "manifest.json").read_text())
    (graders,) = json.loads((folder / "tests" / "manifest.json").read_text())
    assert document["environment"]["docker_image"] == agents["RepoTags"][0]
    assert document["verifier"]["environment"]["docker_image"] == graders["RepoTags"][0]
    assert document["verifier"]["environment_mode"] == "separate"
    assert document["artifacts"] == ["/workspace"]
    assert {document[part]["network_mode"] for part in ("environment", "agent", "verifier")} == {"no-network"}
    assert (folder / "instruction.md").read_text().startswith("Write task-0000.")
    assert {path.name for path in (folder / "solution").iterdir()} == {"solve.sh", "submission.tar.gz"}


async def test_the_solution_takes_the_place_of_the_seeds(tmp_path: Path) -> None:
    """As the oracle of a run: a suite whose oracle is a patch finds it alone."""
    folder, workspace = (await exported(tmp_path)) / "solution", tmp_path / "workspace"
    workspace.mkdir()
    for seed in ("README", ".hidden", "..odd"):
        (workspace / seed).write_text("seed")
    script = folder / "solve.sh"
    script.write_text(script.read_text().replace("/workspace", str(workspace)))
    await asyncio.to_thread(subprocess.run, ["sh", str(script)], check=True)
    with tarfile.open(folder / "submission.tar.gz") as packed:
        handed_in = {Path(name).parts[0] for name in packed.getnames()}
    assert {path.name for path in workspace.iterdir()} == handed_in


async def test_pushed_images_are_named_by_digest(tmp_path: Path) -> None:
    """With a registry, a task names the manifest itself; hosts that agents may reach are listed."""
    folder = await exported(tmp_path, registry="registry.test/lab", allow=("models.test",))
    document = tomllib.loads((folder / "task.toml").read_text())
    (entry,) = json.loads((folder / "environment" / "index.json").read_text())["manifests"]
    assert document["environment"]["docker_image"] == f"registry.test/lab/toy-task-0000-agent@{entry['digest']}"
    assert document["agent"]["allowed_hosts"] == ["models.test"]
    assert document["verifier"]["network_mode"] == "no-network"


async def test_an_engine_can_close_the_network_itself(tmp_path: Path) -> None:
    """Where Harbor's own container cannot be pulled: Harbor leaves it open, and a file has the engine close it."""
    folder = await exported(tmp_path, network_mode="none")
    document = tomllib.loads((folder / "task.toml").read_text())
    assert {document[part]["network_mode"] for part in ("environment", "agent", "verifier")} == {"public"}
    for part in ("environment", "tests"):
        text = (folder / part / "docker-compose.yaml").read_text()
        assert text == "services:\n  main:\n    network_mode: none\n"


async def test_what_one_container_cannot_grade_is_refused(tmp_path: Path) -> None:
    """A suite that tells no environment for its tasks is not written half."""
    with pytest.raises(UsageError, match="in one container"):
        await exported(tmp_path, "tests.runs.toy:create_written")
    assert not (tmp_path / "tasks" / "task-0000").exists()
