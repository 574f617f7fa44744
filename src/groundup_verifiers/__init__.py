"""groundup's tasks as a taskset of verifiers: `vf-eval groundup-verifiers`. See docs/harnesses.md."""

from groundup_bridges.verifiers_tasks import GroundupTaskset

__all__ = ["GroundupTaskset"]
