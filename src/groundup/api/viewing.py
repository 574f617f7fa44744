"""Looking at runs in a browser: a server on this machine, until it is stopped."""

from collections.abc import Callable
from importlib.util import find_spec

from groundup.api.flags import AnyPath
from groundup.api.serving import listening
from groundup.domain.errors import MachineError, UsageError
from groundup.settings import Settings, load


def view(
    folder: AnyPath | None = None,
    *,
    host: str | None = None,
    port: int | None = None,
    token: str | None = None,
    ready: Callable[[str], None] | None = None,
    settings: Settings | None = None,
) -> None:
    """Serve pages over the runs in *folder* until the process is interrupted; *ready* gets the address.

    Without a *token* only this machine is served. Raises `UsageError` for a folder that is not there, and
    `MachineError` where the extra is not installed.
    """
    if any(find_spec(name) is None for name in ("starlette", "uvicorn", "jinja2")):
        raise MachineError("the viewer needs more packages; install them with pip install 'groundup[view]'")
    import uvicorn

    from groundup.viewer.app import Viewer

    found = (settings or load()) if folder is None else load({"output": str(folder)})
    if not found.output.is_dir():
        raise UsageError(f"there is no folder {found.output}; name one with runs")
    viewer = Viewer(found)
    with listening(host, port, has_token=token is not None) as listener:
        name, number = listener.getsockname()[:2]
        # Pages of other sites must not read runs through a name of theirs that leads to this machine.
        hosts = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"}) if token is None else None
        if ready is not None:
            shown = f"[{name}]" if ":" in name else name
            ready(f"http://{shown}:{number}/" + (f"?token={token}" if token else ""))
        server = uvicorn.Server(uvicorn.Config(viewer.app(token, hosts), log_level="warning", access_log=False))
        server.run(sockets=[listener])
    viewer.index.close()
