"""The port on which a gateway listens inside a sandbox: the same in every sandbox, where it is free.

A sandbox has a network of its own, so nothing else claims the port, and what an agent prints of its environment
is the same when an attempt is taken up again. Without such a network (`none`), or with two gateways of a kind, any
port will do.
"""

import socket

from groundup.domain.errors import SandboxError
from groundup.sandbox.protocol import Sandbox


async def listen_at(sandbox: Sandbox, port: int) -> tuple[socket.socket, int]:
    """Return a socket that listens inside, on *port* or else on any, and the port."""
    try:
        return await sandbox.listen(port), port
    except SandboxError:
        listening = await sandbox.listen(0)
        return listening, int(listening.getsockname()[1])
