"""The attempts of a run on a fleet: graded on its nodes, and made there where agents work there, too."""

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from pydantic import JsonValue

from groundup.domain.subjects import Submission
from groundup.domain.version import __version__
from groundup.episodes.attempt import Grading
from groundup.episodes.episode import Playing
from groundup.episodes.records import EpisodeSpec
from groundup.models.attempts import AttemptModel
from groundup.suites.base import Graded
from groundup.trees.digest import tree_digest
from groundup.trees.writer import in_thread
from groundup_fleet.agents import ModelRelay, identity_of
from groundup_fleet.driver import DaskFleet
from groundup_fleet.orders import Order, Play, packed, unpack

_GRADING_PINS = ("suite", "grader version", "architecture")


class RunFleet(DaskFleet):
    """The connection of a run."""

    relay: ModelRelay | None = None
    """Where agents on nodes reach the run's model; None where agents are on the driver's machine."""

    @property
    def agents_on_nodes(self) -> bool:
        """Whether agents work there, too."""
        return self.relay is not None

    def graded_there(self, here: Grading, spec: EpisodeSpec, sandbox: str, builder: str) -> "RemoteGrading":
        """Return *here* as nodes do it, with these tools."""
        common = {one.name: getattr(here, one.name) for one in fields(Grading)}
        return RemoteGrading(**common, fleet=self, spec=spec, sandbox=sandbox, builder=builder)

    def made_there(self, playing: Playing, chosen: tuple[str, dict[str, JsonValue]]) -> "PlayingOnNodes":
        """Return *playing* as nodes do it, which find the agent by what was *chosen*."""
        common = {one.name: getattr(playing, one.name) for one in fields(Playing)}
        return PlayingOnNodes(**common, chosen=chosen)


@dataclass(frozen=True)
class RemoteGrading(Grading):
    """Grades on a fleet's nodes, which open sandboxes and build layers of their own."""

    fleet: RunFleet = field(kw_only=True)
    spec: EpisodeSpec = field(kw_only=True)
    sandbox: str = field(kw_only=True)
    builder: str = field(kw_only=True)

    async def prepare(self, scratch: Path) -> None:
        """Do nothing: nodes build and fetch by themselves."""

    async def settled(self, digest: str, tree: Path, scratch: Path) -> tuple[Graded, bool]:
        """Return a node's verdict, and whether the node knew it; without a cache it grades anew."""
        archive = await asyncio.to_thread(packed, tree)
        names = {*_GRADING_PINS, f"grader of {self.task.id}"}
        pinned = {name: value for name, value in self.spec.pinned.items() if name in names}
        pinned[f"task {self.task.id}"] = self.task.graded_digest
        order = await self.order(self.spec.but(pinned=pinned), use_cache=self.cache is not None)
        order = order.but(submission=digest)
        graded = (await self.fleet.answer(order, archive, self.grader.reservation_mb(self.task))).graded
        assert graded is not None
        return graded

    async def grade(self, tree: Path, scratch: Path) -> Graded:
        """Grade *tree*, such as what an agent hands in before the end."""
        digest = (await asyncio.to_thread(tree_digest, tree)).digest
        graded, _ = await replace(self, cache=None).settled(digest, tree, scratch)
        return graded

    async def order(self, spec: EpisodeSpec, *, use_cache: bool) -> Order:
        """Return an order for *spec* that says what a node must have in common with this machine."""
        await self.inside()  # finds out which image it is, for all nodes
        images = self.backends.images
        return Order(
            spec=spec,
            sandbox=self.sandbox,
            images={} if images is None else images.pins,
            sandbox_identity=dict(self.backends.provider.identity()),
            builder=self.builder,
            groundup=__version__,
            code=self.code(),
            use_cache=use_cache,
        )


@dataclass(frozen=True)
class PlayingOnNodes(Playing):
    """An agent makes the submission on a node."""

    chosen: tuple[str, dict[str, JsonValue]] = field(kw_only=True)
    """What the table of agents calls the agent, and its options."""

    async def make(self, destination: Path, scratch: Path) -> Submission:
        """Have it made, and write what it is into *destination*."""
        grading, (name, options) = self.grading, self.chosen
        assert isinstance(grading, RemoteGrading), "who works on nodes is graded there"
        fleet, spec = grading.fleet, grading.spec
        relay = fleet.relay
        assert relay is not None, "agents are on nodes only where a relay is"
        # What the agent submits on the way is graded there, too.
        reservation_mb = max(self.agent.reservation_mb(grading.task), grading.grader.reservation_mb(grading.task))
        async with self.room():
            with ExitStack() as stack:
                trajectory = stack.enter_context(self.sink.trajectory())
                model = self.model and AttemptModel(self.model, spec.index, trajectory.append)
                token = stack.enter_context(relay.serving(model, trajectory, self.sink.keep_agent_log))
                play = Play(
                    agent=name,
                    options=options,
                    identity=identity_of(self.agent),
                    relay=relay.address,
                    token=token,
                    model=model and model.name,
                    context_tokens=model and model.context_tokens,
                )
                order = (await grading.order(spec, use_cache=False)).but(play=play)
                made = (await fleet.answer(order, b"", reservation_mb)).made
            assert made is not None
            submission, tree = made
            await in_thread(unpack, tree, destination, submission.digest)
        return submission
