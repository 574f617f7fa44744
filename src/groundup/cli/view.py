"""`groundup view`: runs in a browser, served on this machine or as a static site."""

from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote, urlencode

import typer

from groundup.api.flags import AnyPath, Host, Port
from groundup.api.folders import run_folder
from groundup.cli.console import UNFIT, say
from groundup.cli.listening import listening
from groundup.cli.options import Examples
from groundup.domain.errors import UsageError
from groundup.settings import Settings, load
from groundup.store.folder import RunFolder, runs_in

if TYPE_CHECKING:
    from groundup.viewer.site import Site

EXAMPLES: dict[str, Examples] = {
    "view": (
        ("The runs of this project", "groundup view"),
        ("Those of another folder", "groundup view .demo/runs"),
        ("Two runs compared", "groundup view model-a model-b"),
        ("As a static site, to send or to publish", "groundup view model-a model-b --bundle site"),
        ("From another machine", "groundup view --host 0.0.0.0 --token $TOKEN"),
    ),
}


def view(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUNS...", help="A folder of runs (default: the setting output), or runs to open."),
    ] = None,
    host: Host = None,
    port: Port = None,
    token: Annotated[
        str | None, typer.Option(help="Secret that browsers must give as ?token=... in the address.")
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(
            metavar="SITE",
            help="Write the pages into this folder instead, as a static site: no server, nothing to install.",
        ),
    ] = None,
    trajectories: Annotated[
        bool, typer.Option("--trajectories", help="With --bundle: what agents did as well, turn by turn.")
    ] = False,
) -> int:
    """Show and compare runs in a browser: scores, tasks, trajectories, files, tests and logs.

    Works without network; stop it with ^C. Needs an extra (docs/guide-compare.md).
    """
    if bundle is not None:
        site = write_pages(*(runs or ()), site=bundle, trajectories=trajectories)
        say(f"groundup: {site.pages} pages, {site.bytes / 1e6:.1f} MB; open {site.index}")
        if site.left_out:
            say(f"groundup: {site.left_out} lists of tests are left out, so that each run has at most 3 MB")
        for unfit in site.unfit:
            say(f"groundup: {unfit}")
        return UNFIT if site.unfit else 0
    if trajectories:
        raise UsageError("--trajectories goes with --bundle; the pages of a server have them anyway")

    with suppress(KeyboardInterrupt):  # which is how it ends
        serve_pages(
            *(runs or ()),
            host=host,
            port=port,
            token=token,
            ready=lambda address: say(f"groundup: runs are at {address}; ^C stops the server"),
        )
    return 0


def serve_pages(
    *runs: AnyPath,
    host: str | None = None,
    port: int | None = None,
    token: str | None = None,
    ready: Callable[[str], None] | None = None,
    settings: Settings | None = None,
) -> None:
    """Serve pages over runs until the process is interrupted; *ready* gets the address.

    *runs* are a folder of runs (default: that of *settings*), or runs of one folder: then the address is that of
    the one run, or of their comparison. Without a *token* only this machine is served. Raises `UsageError` for a
    folder that is not there, and where the extra is not installed.
    """
    from groundup.viewer import check_installed

    check_installed()
    import uvicorn

    from groundup.viewer.app import Viewer

    folder, page = _place(runs, settings or load())
    viewer = Viewer((settings or load()).but(output=folder))
    with closing(viewer.index), listening(host, port, has_token=token is not None) as listener:
        name, number = listener.getsockname()[:2]
        # Pages of other sites must not read runs through a name of theirs that leads to this machine.
        hosts = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"}) if token is None else None
        if ready is not None:
            shown = f"[{name}]" if ":" in name else name
            sign = "&" if "?" in page else "?"
            ready(f"http://{shown}:{number}{page}" + (f"{sign}token={token}" if token else ""))
        server = uvicorn.Server(uvicorn.Config(viewer.app(token, hosts), log_level="warning", access_log=False))
        server.run(sockets=[listener])


def write_pages(
    *runs: AnyPath, site: AnyPath, trajectories: bool = False, settings: Settings | None = None
) -> "Site":
    """Write pages over *runs* (default: all in the folder of *settings*) as a static site below *site*.

    With *trajectories*, also what agents did, turn by turn. Raises `UsageError` for a *site* that holds anything
    else, for runs that are not there, and where the extra is not installed.
    """
    from groundup.viewer import check_installed

    check_installed()
    from groundup.viewer.site import site_of

    found = settings or load()
    folder = _place(runs, found)[0]
    paths = runs_in(folder) if not runs or _holds_runs(runs) else [run_folder(run, found) for run in runs]
    if not paths:
        raise UsageError(f"there are no runs in {folder}; name a folder with runs")
    return site_of(paths, Path(site), found, trajectories=trajectories)


def _holds_runs(runs: Sequence[AnyPath]) -> bool:
    """Whether *runs* are one folder that is no run's."""
    return len(runs) == 1 and Path(runs[0]).is_dir() and not RunFolder(Path(runs[0])).is_listed()


def _place(runs: Sequence[AnyPath], settings: Settings) -> tuple[Path, str]:
    """Return the folder of runs to show, and the address of the page that shows *runs*. Raises `UsageError`."""
    if not runs:
        folders = [settings.output]
    elif _holds_runs(runs):
        folders = [Path(runs[0])]
    else:
        chosen = [run_folder(run, settings).absolute() for run in runs]
        folders = list(dict.fromkeys(path.parent for path in chosen))
        if len(folders) > 1:
            raise UsageError(
                f"these runs lie in several folders ({', '.join(map(str, folders))}); view one of them"
            )
        names = [path.name for path in chosen]
        if len(names) == 1:
            return folders[0], f"/run/{quote(names[0])}"
        return folders[0], f"/compare?{urlencode([('run', name) for name in names])}"
    if not folders[0].is_dir():
        raise UsageError(f"there is no folder {folders[0]}; name one with runs")
    return folders[0], "/"
