"""From paths as a guest names them to paths on the host, for providers that make no mounts."""

import posixpath
import re
from pathlib import Path

from groundup.sandbox.protocol import WORKSPACE, SandboxSpec


class GuestPlaces:
    """The workspace and mounts of one specification."""

    def __init__(self, spec: SandboxSpec) -> None:
        pairs = [(WORKSPACE, spec.workspace), *((mount.target, mount.source) for mount in spec.mounts)]
        self._pairs = sorted(pairs, key=lambda pair: -len(pair[0]))  # the innermost wins
        targets = "|".join(re.escape(target) for target, _ in self._pairs)
        self._named = re.compile(rf"(?<![\w.-])({targets})(?![\w.-])")

    def host(self, path: str) -> Path | None:
        """Return where *path* lies on the host; None when it is neither in the workspace nor in a mount."""
        path = posixpath.normpath(posixpath.join(WORKSPACE, path))
        for target, source in self._pairs:
            if path == target or path.startswith(f"{target}/"):
                return source / path[len(target) :].lstrip("/")
        return None

    def rewritten(self, text: str) -> str:
        """Return *text* with every guest's path in it replaced by the host's."""
        sources = dict(self._pairs)
        return self._named.sub(lambda match: str(sources[match[1]].absolute()), text)
