"""The tools that a grader gets from a run."""

from dataclasses import dataclass, field
from pathlib import Path

from groundup.environments.builder import EnvironmentBuilder
from groundup.grading.turns import Turns
from groundup.registries.gateway import RegistryGateway
from groundup.registries.ledger import Trouble
from groundup.sandbox.protocol import SandboxProvider


@dataclass(frozen=True)
class Bench:
    """Everything that a grader may use besides its own data. `scratch` is removed by the run afterwards."""

    provider: SandboxProvider
    builder: EnvironmentBuilder
    scratch: Path
    timeout_s: float | None = None
    """Overrides the recipe's test timeout."""
    turns: Turns = field(default_factory=Turns)
    """For heavy work and what is timed; all benches of a run share them."""
    lent: list[RegistryGateway] = field(default_factory=list)
    """Gateways that a submission's own commands were given; none of what they could not fetch is forgotten."""

    def unreached(self) -> Trouble | None:
        """Return what a submission's commands wanted and no registry could give, by the gateways' record."""
        troubles = (trouble for gateway in self.lent for trouble in gateway.troubles)
        return next((trouble for trouble in troubles if trouble.kind == "network"), None)
