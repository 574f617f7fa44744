"""A socket for pages or for a server's clients: of this machine alone, unless strangers must say a secret."""

import socket

from groundup.configuration import PREFIX
from groundup.domain.errors import UsageError
from groundup.domain.names import is_loopback

TOKEN = f"{PREFIX}TOKEN"
"""The variable with the secret."""
_PORT = 8080


def listening(host: str | None, port: int | None, *, has_token: bool) -> socket.socket:
    """Return a socket that listens. Raises `UsageError` for strangers without a token, and for a taken port."""
    wanted, number = host or "127.0.0.1", _PORT if port is None else port
    if not has_token and not is_loopback(wanted):
        raise UsageError(
            f"--host {wanted} lets other machines in: set {TOKEN} or --token, or leave --host out for this one"
        )
    try:
        family = socket.getaddrinfo(wanted, number, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((wanted, number), family=family, backlog=1024)
    except OSError as error:
        why = (error.strerror or str(error)).partition(" (while")[0]
        advice = f"name another --host or --port, such as --port {number + 1 or 8080}"
        raise UsageError(f"cannot listen on {wanted}, port {number}: {why}; {advice}") from error
    # Connections inherit it. asyncio sees to it only for sockets made with TCP's number, and an answer in several
    # parts then waits 40 ms for a delayed acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
