"""A suite's tasks as folders that Harbor reads, each with an image for the agent and one for the verifier.

The agent's image holds no answers; the verifier's holds the grader, the hidden tests and the environment. Images
share what layers they can.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

import tomlkit
from pydantic import Field, JsonValue

from groundup.agents.workspace import LanguageTools, open_workspace
from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.domain.subjects import Subject
from groundup.domain.tasks import Task
from groundup.episodes.attempt import Grading
from groundup.episodes.backends import Backends
from groundup.episodes.episode import Episode
from groundup.episodes.records import EpisodeSpec, MemorySink
from groundup.runs.plan import RunPlan
from groundup.sandbox.protocol import WORKSPACE, Mount, SandboxSpec
from groundup.suites.base import AtHand
from groundup.trees.walking import remove_tree
from groundup.trees.writer import in_thread
from groundup_bridges.baked import BakedLayers
from groundup_bridges.base_image import add_system
from groundup_bridges.harbor_import import harbor_name
from groundup_bridges.images import Image, ImageLayer, ImageStore, LayerFiles, pack, tagged
from groundup_bridges.runtime import add_groundup, add_installer
from groundup_bridges.verifier import DATA, JOB, ORIGINAL, PRIVATE, SCRIPT, VerifierJob

_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
_EMPTY = (
    "proc",
    "sys",
    "dev",
    "run",
    "root",
    "opt",
    "srv",
    "mnt",
    "home/user",
    "var/lib",
    "var/log",
    "usr/local/bin",
)


@dataclass
class TaskImages:
    """Makes the images of one task after the other."""

    suite: str
    """As it is asked for: a name, or where it is defined."""
    tools: Backends
    store: ImageStore
    base_archive: Path | None = None
    """Of the agents' base image, as `docker save` wrote it; None: the system that sandboxes show."""
    add_system: Callable[[LayerFiles], None] = add_system
    """Adds the programs and libraries of a system to a layer."""
    add_groundup: Callable[[LayerFiles], None] = add_groundup
    """Adds what grades inside an image."""
    _shared: dict[tuple[str, ...], ImageLayer] = field(default_factory=dict)
    _base: Image | None = None

    async def of_agent(self, grading: Grading, room: Path) -> tuple[Image, LanguageTools]:
        """Return the image of what an agent sees, and what there is for the task's language."""
        spec = EpisodeSpec(suite=grading.suite.name, task=grading.task.id, subject=Subject(agent="harbor"))
        (room / "agent").mkdir()
        episode = Episode(spec, grading, room / "agent")
        await in_thread(episode.prepare)
        sink = MemorySink(room / "submission")
        with sink.trajectory() as trajectory:
            assignment = episode.agent_context(None, trajectory, sink.keep_agent_log)
            async with open_workspace(assignment) as place:
                shown, told = place.spec, place.tools
                image = await in_thread(self._image_of, shown, self._agents_base(), room)
        return image, told

    def _image_of(self, spec: SandboxSpec, base: Image, room: Path) -> Image:
        top = LayerFiles()
        top.folder(WORKSPACE)
        top.tree(spec.workspace, WORKSPACE)
        layers = [*base.layers, *self._mounted(spec.mounts, top, room), self.store.layer(top)]
        own = base.environment.get("PATH", "").split(":")
        path = dict.fromkeys(part for part in (*spec.path, *own, *_PATH) if part)
        variables = {**base.environment, "LANG": "C.UTF-8", **spec.environment, "PATH": ":".join(path)}
        return Image(layers, variables, WORKSPACE)

    def _mounted(self, mounts: Iterable[Mount], top: LayerFiles, room: Path) -> list[ImageLayer]:
        """Return layers of the lasting mounts; those that were made in *room* go to *top*."""
        every, layers = list(mounts), []
        for number, mount in enumerate(every):
            hidden = [later.target for later in every[number + 1 :] if _is_within(later.target, mount.target)]
            if mount.source.is_relative_to(room):
                top.tree(mount.source, mount.target, hidden)
            else:
                layers.append(self._layer(mount.source, mount.target, hidden))
        return layers

    def _layer(self, source: Path, target: str, hidden: Collection[str]) -> ImageLayer:
        key = (str(source), target, *hidden)
        if key not in self._shared:
            files = LayerFiles()
            files.tree(source, target, hidden, bytecode=True)
            self._shared[key] = self.store.layer(files)
        return self._shared[key]

    async def of_verifier(self, grading: Grading, room: Path) -> Image:
        """Return the image that grades submissions of one task. Raises `UsageError` where a container cannot."""
        builder, suite, task = self.tools.builder, grading.suite, grading.task
        needs, held, top = AtHand.of(suite).needs(task), BakedLayers(), LayerFiles()
        mounts: tuple[Mount, ...] = ()
        top.folder(PRIVATE, 0o700)
        if needs.source is not None:
            wanted = needs.graded or needs.source
            original = await builder.source(wanted)
            held = held.with_source(wanted, original, Path(ORIGINAL))
            top.tree(original.path, ORIGINAL)
        else:
            data = room / "data" / suite.name / "data"
            data.mkdir(parents=True)
            if not await in_thread(grading.grader.write_data, task, data):
                raise UsageError(
                    f"{suite.name}/{task.id} cannot be graded by {grading.grader.name} in one container "
                    "(docs/harnesses.md says why); serve it instead (docs/serving.md)"
                )
            top.tree(room / "data", DATA)
        if needs.environment is not None:
            environment = await builder.python(needs.environment)
            held = held.with_environment(needs.environment, environment)
            mounts = environment.mounts
        name, packages = grading.grader.name, needs.packages
        # The image holds the one data set, without its name.
        job = VerifierJob(suite=self.suite.partition("@")[0], task=task, grader=name, held=held, packages=packages)
        top.text(JOB, job.model_dump_json())
        top.text("/tests/test.sh", SCRIPT, 0o755)
        added = [self.add_groundup, *([add_installer] if packages else [])]
        return await in_thread(self._graders_layers, added, mounts, top, room)

    def _graders_layers(
        self, added: Iterable[Callable[[LayerFiles], None]], mounts: tuple[Mount, ...], top: LayerFiles, room: Path
    ) -> Image:
        mounted = self._mounted(mounts, top, room)
        layers = [*self._system().layers, *map(self._runtime, added), *mounted, self.store.layer(top)]
        return Image(layers, {"PATH": ":".join(_PATH), "LANG": "C.UTF-8"})

    def _system(self) -> Image:
        """Return the system that sandboxes show."""
        if ("system",) not in self._shared:
            files = LayerFiles()
            for name in _EMPTY:
                files.folder(name)
            for name in ("tmp", "var/tmp"):
                files.folder(name, 0o1777)
            self.add_system(files)
            self._shared["system",] = self.store.layer(files)
        return Image([self._shared["system",]])

    def _runtime(self, add: Callable[[LayerFiles], None]) -> ImageLayer:
        key = ("runtime", add.__name__)
        if key not in self._shared:
            files = LayerFiles()
            add(files)
            self._shared[key] = self.store.layer(files)
        return self._shared[key]

    def _agents_base(self) -> Image:
        if self._base is None:
            archive = self.base_archive
            self._base = self._system() if archive is None else self.store.base(archive)
        return self._base


def _is_within(inner: str, outer: str) -> bool:
    return PurePosixPath(inner).is_relative_to(outer)


_INSTRUCTION = """{instruction}

---

You work alone in a Linux container, in the folder /workspace. What lies there when you end is tested by hidden
tests.{tools}
"""
_SOLVE = """#!/bin/sh
# Replaces the workspace with the reference solution.
set -e
rm -rf /workspace/..?* /workspace/.[!.]* /workspace/*
tar -C /workspace -xzf "$(dirname "$0")/submission.tar.gz"
"""
_COMPOSE = "services:\n  main:\n    network_mode: {mode}\n"


class HarborOptions(Record):
    """How tasks are written."""

    base: Path | None = Field(default=None, description="an archive of the agents' base image; None: ours")
    registry: str | None = Field(default=None, description="where the images will be pushed, such as HOST/NAME")
    allow: tuple[str, ...] = Field(default=(), description="hosts that agents may reach")
    network_mode: Literal["harbor", "none", "host"] = Field(
        default="harbor",
        description="who closes the network: harbor, by a container of its own, or the engine (none); host: the "
        "engine, but verifiers of services have the machine's network",
    )
    agent_s: float = Field(default=4 * 3600.0, gt=0)
    verifier_s: float = Field(default=3600.0, gt=0)


@dataclass(frozen=True)
class HarborExport:
    """Writes one task after the other into *destination*."""

    plan: RunPlan
    images: TaskImages
    options: HarborOptions
    destination: Path
    scratch: Path

    async def write(self, task: Task) -> Path:
        """Write *task* and return its folder. Raises `UsageError` for one that a container cannot grade."""
        suite = self.plan.suite
        grading = Grading(suite, task, self.plan.grader, self.images.tools)
        folder = self.destination / task.id
        room = self.scratch / task.id
        room.mkdir()
        try:
            graders = await self.images.of_verifier(grading, room)
            agents, tools = await self.images.of_agent(grading, room)
            digests = {
                "agent": await in_thread(self._written, agents, task, "agent", folder / "environment"),
                "verifier": await in_thread(self._written, graders, task, "verifier", folder / "tests"),
            }
            references = {role: self._reference(task, role, digest) for role, digest in digests.items()}
            (folder / "tests" / "test.sh").write_text(SCRIPT, encoding="utf-8")
            (folder / "tests" / "test.sh").chmod(0o755)
            instruction = _INSTRUCTION.format(instruction=(task.instruction or "").rstrip(), tools=tools.sentence)
            (folder / "instruction.md").write_text(instruction, encoding="utf-8")
            self._write_network(task, folder)
            (folder / "task.toml").write_text(tomlkit.dumps(self._document(task, references)), encoding="utf-8")
            if task.id in AtHand.of(suite).referenced():
                await self._write_solution(grading, folder / "solution", room)
        finally:
            await in_thread(remove_tree, room)
        return folder

    def _written(self, image: Image, task: Task, role: str, folder: Path) -> str:
        folder.mkdir(parents=True)
        return self.images.store.write(image, self._name(task, role), folder)

    # --- files

    def _name(self, task: Task, role: str) -> str:
        plain = re.sub(r"[^a-z0-9]+", "-", task.id.lower()).strip("-")
        return f"{self.options.registry or 'groundup'}/{self.plan.suite.name}-{plain}-{role}"

    def _reference(self, task: Task, role: str, digest: str) -> str:
        """Return how a container names an image: by digest where a registry has it, else by its tag."""
        name = self._name(task, role)
        return f"{name}@{digest}" if self.options.registry else tagged(name, digest)

    def _document(self, task: Task, images: Mapping[str, str]) -> dict[str, JsonValue]:
        limits, options = task.limits, self.options
        hosts = list[JsonValue](options.allow)
        # Harbor does nothing where it is public; then the engine is told to give none.
        alone: dict[str, JsonValue] = {
            "network_mode": "no-network" if options.network_mode == "harbor" else "public"
        }
        agents: dict[str, JsonValue] = {"network_mode": "allowlist", "allowed_hosts": hosts} if hosts else alone
        graders = alone
        room: dict[str, JsonValue] = {"cpus": max(1, round(limits.cpus)), "memory_mb": limits.memory_mb}
        graders_room = room
        if AtHand.of(self.plan.suite).needs(task).packages:
            graders = {"network_mode": "public"}
            # A service, its tests and who installs for it are there at once, each within its own limit elsewhere.
            graders_room = {**room, "memory_mb": 2 * limits.memory_mb}
        return {
            "schema_version": "1.4",
            "artifacts": [WORKSPACE],
            "task": {"name": harbor_name(self.plan.suite.name, task.id)},
            "metadata": {
                "suite": self.plan.configuration.suite,
                "task": task.id,
                "grader": f"{self.plan.grader.name} {self.plan.grader.version}",
                "data_version": task.data_version,
            },
            "environment": {"docker_image": images["agent"], "workdir": WORKSPACE, **room, **agents},
            "agent": {"timeout_sec": options.agent_s, **agents},
            "verifier": {
                "timeout_sec": options.verifier_s,
                "environment_mode": "separate",
                **graders,
                "environment": {"docker_image": images["verifier"], **graders_room, **graders},
            },
        }

    def _write_network(self, task: Task, folder: Path) -> None:
        """Have the engine itself give no network, where the user wants that."""
        mode = self.options.network_mode
        if mode == "harbor":
            return
        (folder / "environment" / "docker-compose.yaml").write_text(_COMPOSE.format(mode="none"), encoding="utf-8")
        installs = AtHand.of(self.plan.suite).needs(task).packages
        if not installs or mode == "host":
            text = _COMPOSE.format(mode="host" if installs else "none")
            (folder / "tests" / "docker-compose.yaml").write_text(text, encoding="utf-8")

    async def _write_solution(self, grading: Grading, folder: Path, room: Path) -> None:
        tree = room / "oracle"
        tree.mkdir()
        await grading.suite.reference(grading.task, "oracle", tree, grading.context(room / "oracle-bench"))
        folder.mkdir()
        (folder / "solve.sh").write_text(_SOLVE, encoding="utf-8")
        (folder / "solve.sh").chmod(0o755)
        await in_thread(pack, tree, folder / "submission.tar.gz")
