"""An npm registry on a site of a test's own."""

import base64
import hashlib
import json
from collections.abc import Mapping

from groundup.registries.npm import NpmSettings
from groundup.registries.settings import Index
from tests.registries.fake_site import Site, packed


class FakeNpm:
    """Packages on a site. Tarballs lie apart from packuments, as some registries have them."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._packuments: dict[str, dict[str, dict[str, object]]] = {}
        self._times: dict[str, dict[str, str]] = {}

    def configuration(self) -> NpmSettings:
        """Return how to reach it."""
        index = Index(url=self.site.address)
        return NpmSettings(indexes=(index,))

    def add(
        self, name: str, version: str, *, published: str = "2020-01-01T00:00:00.000Z", **manifest: object
    ) -> bytes:
        """Add a version; `latest` is the one added last. Return its tarball."""
        short = name.rpartition("/")[2]
        package = {"name": name, "version": version, "main": "index.js", **manifest}
        code = f"module.exports = '{name} {version}';\n"
        tarball = packed("package", {"package.json": json.dumps(package), "index.js": code})
        path = f"/files/{short}-{version}.tgz"
        self.site.write(path, tarball)
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
        shasum = hashlib.sha1(tarball, usedforsecurity=False).hexdigest()
        dist = {"tarball": f"{self.site.address}{path}", "integrity": integrity, "shasum": shasum}
        self._packuments.setdefault(name, {})[version] = {**package, "dist": dist, "readme": "long"}
        self._times.setdefault(name, {})[version] = published
        self._publish(name, {"latest": version})
        return tarball

    def _publish(self, name: str, tags: Mapping[str, str]) -> None:
        versions = self._packuments[name]
        page = {"name": name, "versions": versions, "dist-tags": tags, "time": self._times[name], "readme": "long"}
        self.site.write(f"/{name}", page)
