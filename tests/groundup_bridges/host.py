"""A provider for tests of the way to a sandbox: commands run in folders of this machine, unconfined."""

from collections.abc import Mapping

from groundup.sandbox.protocol import Closing, Enforcement, SandboxSpec
from groundup.settings import Settings
from groundup_bridges.host_folders import HostFolder, HostPod


def create(settings: Settings) -> "HostProvider":
    """Return the provider."""
    return HostProvider()


class HostProvider(Closing):
    """Runs commands in a folder of the host."""

    name = "host"
    guests_are_others = False

    def __init__(self) -> None:
        self._open: list[HostFolder] = []

    async def open(self, spec: SandboxSpec) -> HostFolder:
        """Open a folder."""
        self._open.append(HostFolder(spec))
        return self._open[-1]

    async def pod(self) -> HostPod:
        """Open a pod: the host's network, as for everything here."""
        return HostPod(self)

    def enforcement(self) -> Enforcement:
        """Say that nothing is enforced."""
        return Enforcement(cpus="none", memory="none", processes="none", disk="none", network="none: the host's")

    def identity(self) -> Mapping[str, str]:
        """Name it."""
        return {"sandbox": self.name}

    async def close(self) -> None:
        """End everything that was started."""
        for folder in self._open:
            await folder.close()
