"""Sandboxes whose programs are those of an unpacked image.

Another provider makes them; this one says where their root, their variables and their PATH come from.
"""

from collections.abc import Mapping
from pathlib import Path

from groundup.domain.records import Record
from groundup.sandbox.protocol import Closing, Enforcement, Pod, Sandbox, SandboxProvider, SandboxSpec

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class UnpackedImage(Record):
    """An image in a folder."""

    name: str
    digest: str
    """Of its configuration, which names its layers."""
    root: Path
    environment: dict[str, str] = {}
    user: str = ""

    def within(self, spec: SandboxSpec) -> SandboxSpec:
        """Return *spec* with the image's programs; its own variables and folders of programs go first."""
        given = {name: value for name, value in self.environment.items() if name != "PATH"}
        path = (*spec.path, *self.environment.get("PATH", _PATH).split(":"))
        return spec.but(root=self.root, environment={**given, **spec.environment}, path=path)


class RootedProvider(Closing, SandboxProvider):
    """Opens sandboxes of another provider in an image. Closing it closes nothing."""

    def __init__(self, whole: SandboxProvider, image: UnpackedImage) -> None:
        self.name = whole.name
        self._whole = whole
        self.image = image

    @property
    def guests_are_others(self) -> bool:
        return self._whole.guests_are_others

    async def open(self, spec: SandboxSpec) -> Sandbox:
        return await self._whole.open(self.image.within(spec))

    async def pod(self) -> Pod:
        return RootedPod(await self._whole.pod(), self.image)

    def enforcement(self) -> Enforcement:
        return self._whole.enforcement()

    def identity(self) -> Mapping[str, str]:
        return {**self._whole.identity(), "image": self.image.digest}

    async def close(self) -> None:
        """Leave the sandboxes to the whole."""


class RootedPod(Closing, Pod):
    """A pod of which each sandbox has the image's programs."""

    def __init__(self, whole: Pod, image: UnpackedImage) -> None:
        self._whole = whole
        self._image = image

    async def open(self, spec: SandboxSpec) -> Sandbox:
        return await self._whole.open(self._image.within(spec))
