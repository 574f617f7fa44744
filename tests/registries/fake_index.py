"""A package index on loopback for tests, and tiny packages to put into it."""

import base64
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Literal

from groundup.registries.settings import Index, RegistrySettings

OLD = "2020-01-01T00:00:00Z"

_BACKEND = """
import hashlib, base64, zipfile, os
NAME, VERSION = {name!r}, {version!r}
def build_wheel(directory, settings=None, metadata=None):
    {extra}
    filename = f"{{NAME}}-{{VERSION}}-py3-none-any.whl"
    info = f"{{NAME}}-{{VERSION}}.dist-info"
    members = {{
        f"{{NAME}}.py": f"version = {{VERSION!r}}\\n",
        f"{{info}}/METADATA": f"Metadata-Version: 2.1\\nName: {{NAME}}\\nVersion: {{VERSION}}\\n",
        f"{{info}}/WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }}
    members[f"{{info}}/RECORD"] = "".join(f"{{name}},,\\n" for name in [*members, f"{{info}}/RECORD"])
    with zipfile.ZipFile(os.path.join(directory, filename), "w") as wheel:
        for name, text in members.items():
            wheel.writestr(name, text)
    return filename
def get_requires_for_build_wheel(settings=None):
    return {requires!r}
"""


def make_wheel(name: str, version: str, *, requires: tuple[str, ...] = (), body: str = "") -> tuple[str, bytes]:
    """Return file name and content of a pure wheel with one module `name` that holds `version` and *body*."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {line}\n" for line in requires)
    members = {
        f"{name}.py": f"version = {version!r}\n{body}",
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, text in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        record += f"{path},sha256={digest},{len(text.encode())}\n"
    members[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as wheel:
        for path, text in members.items():
            wheel.writestr(zipfile.ZipInfo(path), text)
    return f"{name}-{version}-py3-none-any.whl", buffer.getvalue()


def make_sdist(
    name: str,
    version: str,
    *,
    extra: str = "pass",
    requires: tuple[str, ...] = (),
    built_with: str = "",
    files: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, bytes]:
    """Return an sdist with its own build backend; *extra* is a statement that runs while it is built.

    *built_with* is a requirement of that backend, *files* are put over the others.
    """
    backend = _BACKEND.format(name=name, version=version, extra=extra, requires=list(requires))
    members = {
        "pyproject.toml": f"[build-system]\nrequires = {[built_with] if built_with else []}\n"
        'build-backend = "backend"\nbackend-path = ["."]\n',
        "backend.py": backend,
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{name}.py": f"version = {version!r}\n",
        **files,
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in members.items():
            member = tarfile.TarInfo(f"{name}-{version}/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return f"{name}-{version}.tar.gz", buffer.getvalue()


def sha256(content: bytes) -> str:
    """Return the hash as requirement lines write it."""
    return hashlib.sha256(content).hexdigest()


@dataclass
class FakeIndex:
    """What the index holds, how it behaves, and what it was asked."""

    url: str = ""
    form: Literal["json", "html"] = "json"
    projects: dict[str, dict[str, bytes]] = field(default_factory=dict)
    uploads: dict[str, str] = field(default_factory=dict)
    told_hashes: dict[str, str] = field(default_factory=dict)
    """Hashes that pages give instead of the true ones; an empty one is left out."""
    metadata: dict[str, bytes] = field(default_factory=dict)
    credentials: tuple[str, str] | None = None
    failing: int | None = None
    """An HTTP status that answers everything."""
    asked: list[str] = field(default_factory=list)
    user_agents: list[str] = field(default_factory=list)

    def add(self, file: tuple[str, bytes], uploaded: str = OLD) -> str:
        """Take a file in and return its requirement line with hash."""
        filename, content = file
        name, _, rest = filename.partition("-")
        version = rest.removesuffix(".tar.gz").partition("-")[0]
        self.projects.setdefault(name, {})[filename] = content
        self.uploads[filename] = uploaded
        return f"{name}=={version} --hash=sha256:{sha256(content)}"

    def configuration(self) -> RegistrySettings:
        """Return the configuration of a client that uses this index only."""
        return RegistrySettings(indexes=(Index(url=f"{self.url}/simple"),), trust_environment=False)

    def files_asked(self) -> list[str]:
        """Return which files were downloaded."""
        return [path.rpartition("/")[2] for path in self.asked if path.startswith("/packages/")]

    def answer(self, path: str, headers: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body for a GET."""
        if self.failing:
            return self.failing, {}, b"the index is unwell"
        if self.credentials:
            expected = base64.b64encode(":".join(self.credentials).encode()).decode()
            if headers.get("Authorization") != f"Basic {expected}":
                return 401, {}, b"who are you?"
        parts = path.strip("/").split("/")
        if parts[0] == "simple" and parts[1:] and parts[1] in self.projects:
            return self._page(parts[1], headers)
        if parts[0] == "packages" and len(parts) == 3:
            filename = parts[2]
            content = self.projects.get(parts[1], {}).get(filename)
            if filename.endswith(".metadata"):
                content = self.metadata.get(filename.removesuffix(".metadata"))
            if content is not None:
                return 200, {"Content-Type": "application/octet-stream"}, content
        return 404, {}, b"nothing here"

    def _page(self, name: str, headers: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        files = []
        for filename, content in self.projects[name].items():
            digest = self.told_hashes.get(filename, sha256(content))
            entry: dict[str, object] = {
                "filename": filename,
                "url": f"../../packages/{name}/{filename}",
                "hashes": {"sha256": digest} if digest else {},
                "upload-time": self.uploads[filename],
            }
            if filename in self.metadata:
                entry["core-metadata"] = {"sha256": sha256(self.metadata[filename])}
            files.append(entry)
        if self.form == "json":
            body = json.dumps({"meta": {"api-version": "1.1"}, "name": name, "files": files}).encode()
            kind = "application/vnd.pypi.simple.v1+json"
        else:
            lines = []
            for entry in files:
                hashes = entry["hashes"]
                fragment = f"#sha256={hashes['sha256']}" if isinstance(hashes, dict) and hashes else ""
                upload = f'data-upload-time="{entry["upload-time"]}"'
                lines.append(f'<a href="{entry["url"]}{fragment}" {upload}>{entry["filename"]}</a>')
            body, kind = "\n".join(lines).encode(), "text/html; charset=utf-8"
        etag = f'"{sha256(body)[:16]}"'
        if headers.get("If-None-Match") == etag:
            return 304, {"ETag": etag}, b""
        return 200, {"Content-Type": kind, "ETag": etag}, body


@contextmanager
def serving() -> Iterator[FakeIndex]:
    """Serve an empty index on loopback."""
    index = FakeIndex()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            index.asked.append(self.path)
            index.user_agents.append(self.headers.get("User-Agent", ""))
            status, headers, body = index.answer(self.path, dict(self.headers.items()))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 304:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815  # so the base class names it

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # so the base class names it
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    index.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield index
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
