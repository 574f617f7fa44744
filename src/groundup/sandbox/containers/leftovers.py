"""Containers that killed programs left with an engine: seldom, for what ends is removed, and all end alone.

What stays is a container that was made and, because groundup was killed in that moment, never started.
"""

import asyncio
from pathlib import Path

from groundup.domain.errors import SandboxError
from groundup.sandbox.containers.engine import Engine
from groundup.sandbox.host_state import is_abandoned


def stale_containers(*, remove: bool = False) -> list[str]:
    """Return such containers of all engines that answer, as `engine/id`; *remove* them if wished."""
    return asyncio.run(_stale(remove))


async def _stale(remove: bool) -> list[str]:
    found = []
    for engine in Engine.here():
        try:
            for container, state in (await engine.ours()).items():
                if is_abandoned(Path(state)):
                    found.append(f"{engine.kind.name}/{container[:12]}")
                    if remove:
                        await engine.remove(container)
        except SandboxError:  # it stopped meanwhile: what it has is looked at the next time
            continue
        finally:
            engine.close()
    return found
