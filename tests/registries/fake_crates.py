"""A sparse index of crates on a site of a test's own."""

import hashlib
import json

from groundup.registries.crates import CratesSettings, place
from groundup.registries.settings import Index
from tests.registries.fake_site import Site, packed


class FakeCrates:
    """Crates on a site, below `/index`."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._lines: dict[str, list[str]] = {}
        site.write("/index/config.json", {"dl": f"{site.address}/dl/{{crate}}/{{version}}"})

    def configuration(self) -> CratesSettings:
        """Return how to reach it."""
        index = Index(url=f"{self.site.address}/index")
        return CratesSettings(indexes=(index,))

    def add(self, name: str, version: str, *, published: str | None = None, yanked: bool = False) -> bytes:
        """Add a version with one function `name`; return its crate."""
        crate = packed(
            f"{name}-{version}",
            {
                "Cargo.toml": f'[package]\nname = "{name}"\nversion = "{version}"\nedition = "2021"\n',
                "src/lib.rs": f'pub fn name() -> &\'static str {{ "{name} {version}" }}\n',
            },
        )
        self.site.write(f"/dl/{name}/{version}", crate)
        row: dict[str, object] = {"name": name, "vers": version, "deps": [], "features": {}, "yanked": yanked}
        row["cksum"] = hashlib.sha256(crate).hexdigest()
        if published:
            row["pubtime"] = published
        self._lines.setdefault(name, []).append(json.dumps(row))
        self.site.write(f"/index/{place(name)}", "\n".join(self._lines[name]).encode())
        return crate
