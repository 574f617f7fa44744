"""Nodes in a Kubernetes cluster, by the user's `kubectl`: a Deployment, and a Secret with address and keys.

The cluster starts again what ends there. Both objects go with the fleet.
"""

import asyncio
import json
import secrets
from dataclasses import dataclass, field

from pydantic import JsonValue

from groundup.configuration import environment
from groundup.domain.errors import MachineError
from groundup.fleet.addresses import FleetAddress
from groundup.fleet.nodes import NodeSize, Report, joining_words

_ADDRESS = "/run/groundup/address.json"
_CACHE = "/var/cache/groundup"


@dataclass(frozen=True)
class ClusterNodes:
    """So many pods of an image that has groundup with its extra `fleet`."""

    number: int
    size: NodeSize
    image: str
    program: str = "groundup"
    options: tuple[str, ...] = ()
    """Further words for `kubectl`, such as `--namespace=mine`."""
    name: str = field(default_factory=lambda: f"groundup-{secrets.token_hex(4)}")

    async def keep(self, address: FleetAddress, report: Report) -> None:
        """Have the cluster run them until this is cancelled. Raises `MachineError` when it does not want to."""
        objects = json.dumps(self.objects(address)).encode()
        try:
            await self._kubectl("apply", objects)
            report(f"the cluster was asked for {self.number} nodes; they are the Deployment {self.name}")
            await asyncio.Event().wait()
        finally:
            try:
                await self._kubectl("delete", objects, "--ignore-not-found", "--wait=false")
            except MachineError as error:
                report(f"{error}; remove the Deployment and the Secret {self.name} yourself")

    async def _kubectl(self, verb: str, objects: bytes, *words: str) -> None:
        argv = ("kubectl", *self.options, verb, "--filename=-", *words)
        piped = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=piped, stdout=piped, stderr=piped, env=environment()
            )
        except OSError as error:
            raise MachineError(f"kubectl cannot be started: {error.strerror or error}") from error
        _, said = await process.communicate(objects)
        if process.returncode:
            raise MachineError(f"kubectl {verb} failed: {said.decode(errors='replace').strip()}")

    def objects(self, address: FleetAddress) -> dict[str, JsonValue]:
        """Return what the cluster shall have, as a list of API objects."""
        labels: dict[str, JsonValue] = {"app.kubernetes.io/instance": self.name}
        about: dict[str, JsonValue] = {"name": self.name, "labels": labels}
        secret: dict[str, JsonValue] = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": about,
            "stringData": {"address.json": address.model_dump_json()},
        }
        deployment: dict[str, JsonValue] = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": about,
            "spec": {
                "replicas": self.number,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": self._pod()},
            },
        }
        return {"apiVersion": "v1", "kind": "List", "items": [secret, deployment]}

    def _pod(self) -> dict[str, JsonValue]:
        memory: dict[str, JsonValue] = {"memory": f"{self.size.memory_mb}Mi"} if self.size.memory_mb else {}
        requests: dict[str, JsonValue] = {"cpu": str(self.size.slots), **memory}
        container: dict[str, JsonValue] = {
            "name": "node",
            "image": self.image,
            "command": [self.program, *joining_words(self.size, _ADDRESS)],
            "env": [{"name": "GROUNDUP_CACHE_DIR", "value": _CACHE}],
            "resources": {"requests": requests, "limits": memory},
            "volumeMounts": [
                {"name": "address", "mountPath": _ADDRESS.rpartition("/")[0], "readOnly": True},
                {"name": "cache", "mountPath": _CACHE},
            ],
            # As docs/sandbox.md asks of Docker: bubblewrap makes namespaces, and mounts a /proc in them.
            "securityContext": {
                "seccompProfile": {"type": "Unconfined"},
                "appArmorProfile": {"type": "Unconfined"},
                "procMount": "Unmasked",
            },
        }
        return {
            "hostUsers": False,  # Kubernetes allows an unmasked /proc only in a pod with users of its own
            "automountServiceAccountToken": False,  # what is graded there has no business with the cluster
            "enableServiceLinks": False,
            "containers": [container],
            "volumes": [
                {"name": "address", "secret": {"secretName": self.name}},
                {"name": "cache", "emptyDir": {}},
            ],
        }
