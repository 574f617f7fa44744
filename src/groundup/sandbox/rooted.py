"""Sandboxes whose programs are those of an unpacked image.

Another provider makes them; this one says where their root, their variables and their PATH come from.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from groundup.domain.records import Record
from groundup.sandbox.protocol import (
    Closing,
    Connecting,
    Enforcement,
    Mount,
    Pod,
    Sandbox,
    SandboxProvider,
    SandboxSpec,
)

_INSTALLED = ("usr/local", "opt/*", "root/*", "root/.*")
"""Where images have an interpreter into which pip installs; `/usr` has the system's own."""
_OF_INTERPRETERS = ("lib/python3*/site-packages", "lib/python3*/dist-packages")
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
        return spec.but(
            root=self.root, environment={**given, **spec.environment}, path=(*spec.path, *self.search_path)
        )

    @property
    def search_path(self) -> tuple[str, ...]:
        """The folders of its PATH."""
        return tuple(self.environment.get("PATH", _PATH).split(":"))

    def installed(self) -> Iterator[Mount]:
        """Yield the folders into which pip installs, and /usr/local in any case; a guest needs its own."""
        for place in (found for pattern in _INSTALLED for found in sorted(self.root.glob(pattern))):
            if place.is_symlink() or not place.is_dir():
                continue
            inside = place.relative_to(self.root)
            if str(inside) == "usr/local" or any(any(place.glob(inner)) for inner in _OF_INTERPRETERS):
                yield Mount(source=place, target=f"/{inside}")


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

    async def observer(self, spec: SandboxSpec) -> Connecting:
        return await self._whole.observer(spec)

    async def close(self) -> None:
        """Close all its sandboxes."""
        await self._whole.close()
