"""A suite's tasks as folders that Harbor reads, each with an image for the agent and one for the verifier."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tomlkit
from pydantic import Field, JsonValue

from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.episodes.attempt import Grading
from groundup.harnesses.harbor_images import TaskImages
from groundup.harnesses.harbor_import import harbor_name
from groundup.harnesses.images import Image, pack, tagged
from groundup.harnesses.verifier import SCRIPT
from groundup.runs.plan import RunPlan
from groundup.sandbox.protocol import WORKSPACE
from groundup.trees.removal import remove_tree
from groundup.trees.writer import in_thread

_INSTRUCTION = """{instruction}

---

You work alone in a Linux container, in the folder /workspace. What lies there when you end is tested by hidden
tests.{tools}
"""
_SOLVE = """#!/bin/sh
# What the original hands in takes the place of what lies there.
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
                "agent": await in_thread(lambda: self._written(agents, task, "agent", folder / "environment")),
                "verifier": await in_thread(lambda: self._written(graders, task, "verifier", folder / "tests")),
            }
            references = {role: self._reference(task, role, digest) for role, digest in digests.items()}
            (folder / "tests" / "test.sh").write_text(SCRIPT, encoding="utf-8")
            (folder / "tests" / "test.sh").chmod(0o755)
            instruction = _INSTRUCTION.format(instruction=(task.instruction or "").rstrip(), tools=tools.sentence)
            (folder / "instruction.md").write_text(instruction, encoding="utf-8")
            self._write_network(task, folder)
            (folder / "task.toml").write_text(tomlkit.dumps(self._document(task, references)), encoding="utf-8")
            if task.id in suite.referenced():
                await self._write_solution(grading, folder / "solution", room)
        finally:
            await in_thread(lambda: remove_tree(room))
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
        if self.plan.suite.needs(task).packages:
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
        installs = self.plan.suite.needs(task).packages
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
        await in_thread(lambda: pack(tree, folder / "submission.tar.gz"))
