"""The tools that a grader gets from a run."""

from dataclasses import dataclass
from pathlib import Path

from groundup.environments.builder import EnvironmentBuilder
from groundup.sandbox.protocol import SandboxProvider


@dataclass(frozen=True)
class Bench:
    """Everything that a grader may use besides its own data. `scratch` is removed by the run afterwards."""

    provider: SandboxProvider
    builder: EnvironmentBuilder
    scratch: Path
    timeout_s: float | None = None
    """Overrides the recipe's test timeout."""
