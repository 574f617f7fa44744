"""What a run on a fleet survives: nodes far away, hung, cut off, full, of another version, with another clock."""

import asyncio
import os
import selectors
import shlex
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography import x509

from groundup.domain.errors import MachineError
from groundup.domain.version import __version__
from groundup.runs import api
from groundup.runs.plan import RunOptions
from groundup.runs.progress import AttemptEnded, Event, Warned
from groundup.sandbox.bubblewrap import find_bubblewrap
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import FleetFile, Predictions
from groundup_fleet.api import look
from groundup_fleet.clusters import FleetAddress, read_address, security, with_new_keys
from groundup_fleet.driver import DaskFleet
from groundup_fleet.extra import distributed
from groundup_fleet.node import NodePlugin
from groundup_fleet.orders import NodeAnswer
from tests.groundup_fleet.fleets import ROOT, RunningFleet, by_ssh, fleet_of, worker_here
from tests.groundup_fleet.test_fleet import a_worker, files, on, untimed
from tests.groundup_fleet.test_orders import an_order
from tests.needs import lack
from tests.patience import patient
from tests.runs.configurations import evaluation, oracle
from tests.runs.conftest import predict, settings

__all__ = ["predict", "settings"]
Predict = Callable[[Mapping[str, str]], Predictions]


@contextmanager
def fleet_apart(folder: Path, room_bytes: int, *more: str, nodes: int = 1) -> Iterator[RunningFleet]:
    """Yield a fleet with a node that sees nothing below *folder* and can write *room_bytes* of its own only."""
    bwrap, programs = find_bubblewrap(), folder / "programs"
    around = [str(bwrap), "--unshare-user", "--uid", "65534", "--gid", "65534", "--ro-bind", "/", "/"]
    tried = subprocess.run([*around, "true"], capture_output=True, check=False) if bwrap else None
    if tried is None or tried.returncode:
        lack("sandbox", tried and tried.stderr)
    around += ["--proc", "/proc", "--dev", "/dev", "--size", str(room_bytes), "--tmpfs", str(folder)]
    around += ["--ro-bind", str(programs), str(programs)]
    for name, place in (("HOME", folder), ("TMPDIR", folder), ("GROUNDUP_CACHE_DIR", folder / "cache")):
        around += ["--setenv", name, str(place)]
    arguments, environment = by_ssh(programs, shlex.join(around))
    with fleet_of(*arguments, *more, folder=folder / "fleet", nodes=nodes, environment=environment) as fleet:
        yield fleet


def test_a_node_that_shares_no_file_with_the_driver_leaves_what_a_local_run_leaves(
    settings: Settings, tmp_path: Path
) -> None:
    """Another user, another home, another temporary folder and cache: all it has came over the connections."""
    configuration = oracle("tests.runs.toy:create_written")
    here = api.NewRun(configuration, RunOptions(use_cache=False), settings, run_id="here").work()
    with fleet_apart(tmp_path, 400_000_000) as fleet:
        there = api.NewRun(configuration, on(fleet), settings, run_id="there").work()
    assert (here.exit_code, there.exit_code) == (0, 0)
    assert untimed(here.folder) == untimed(there.folder)
    assert files(here.folder) == files(there.folder)


def test_a_node_without_the_data_gets_it_from_the_driver(settings: Settings, tmp_path: Path) -> None:
    """It sees nothing of this machine's; another version of the data goes there by the next run, too."""
    data = settings.data / "toy" / "data"
    data.mkdir(parents=True)
    with fleet_apart(tmp_path, 400_000_000) as fleet:
        for version in ("1", "2"):
            (data / "version").write_text(version)
            result = api.NewRun(
                oracle("tests.runs.toy:create_of_data"), on(fleet), settings, run_id=version
            ).work()
            assert (result.exit_code, result.pending) == (0, 0)


def test_a_node_with_too_little_room_rests(settings: Settings, predict: Predict, tmp_path: Path) -> None:
    """It would fail faster than others work; it gets nothing, `fleet doctor` names it, and no try is lost."""
    behaviours = {f"task-{number:04}": "sleep 0.2" for number in range(10)}
    configuration = evaluation(predict(behaviours), "tests.runs.toy:create")
    configuration = configuration.but(tasks=tuple(behaviours))
    shown: list[FleetFile] = []

    def see(event: Event) -> None:
        if isinstance(event, AttemptEnded):
            shown.extend(filter(None, [RunFolder(settings.output / "full").fleet()]))

    with fleet_apart(tmp_path, 100_000_000, "--local", "1", nodes=2) as fleet:
        found = look(str(fleet.file), "tests.runs.toy:create_provider")
        result = api.NewRun(configuration, on(fleet, retries=0), settings, run_id="full").work(see)
    assert (result.exit_code, result.pending) == (0, 0)
    assert sorted(one.problem or "" for one in found) == ["", "it rests: less than 256 MB are free on its disk"]
    assert {tuple(sorted((one.rests, one.grading) for one in now.nodes))[1] for now in shown} == {(True, 0)}


def test_a_node_whose_disk_fills_up_rests_and_works_again(
    settings: Settings, predict: Predict, tmp_path: Path
) -> None:
    """What it could not do is done, without a try of the run; here by the same node, for there is no other."""
    predictions = predict({f"task-{number:04}": f"full {tmp_path / 'was-full'}" for number in range(4)})
    plugin = NodePlugin()
    plugin.resting_s = 0.1
    with (
        worker_here() as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.register_plugin(plugin)
        options = RunOptions(workers=cluster.scheduler.address, retries=0, use_cache=False)
        result = api.NewRun(
            evaluation(predictions, "tests.runs.toy:create"), options, settings, run_id="full"
        ).work()
    assert (result.exit_code, result.pending) == (0, 0)
    assert (tmp_path / "was-full").exists()


def test_a_node_with_another_groundup_is_refused_by_name(settings: Settings, tmp_path: Path) -> None:
    """The run says who and why, and goes on with the others; so does `fleet doctor`."""
    arguments, environment = by_ssh(tmp_path / "programs")
    older = (
        "import groundup.domain.version as v; v.__version__ = '0.0.1'; from groundup.cli.main import main; main()"
    )
    (tmp_path / "programs" / "groundup").write_text(f'#!/bin/sh\nexec {sys.executable} -c "{older}" "$@"\n')
    seen: list[Event] = []
    arguments = (*arguments, "--local", "1")
    with fleet_of(*arguments, folder=tmp_path / "fleet", nodes=2, environment=environment) as fleet:
        result = api.NewRun(oracle("tests.runs.toy:create"), on(fleet), settings, run_id="old").work(seen.append)
        found = look(str(fleet.file), "tests.runs.toy:create_provider")
    assert result.exit_code == 0
    (name,) = [one.name for one in found if one.problem == f"has groundup 0.0.1, this is {__version__}"]
    assert [one.problem for one in found if one.name != name] == [None]
    said = [event.message for event in seen if isinstance(event, Warned)]
    assert any(name in text and "it has groundup 0.0.1" in text for text in said)


def test_a_node_without_sandboxes_is_refused_by_name(settings: Settings, tmp_path: Path) -> None:
    """It fails faster than others work; they get all attempts, without a try of the run."""
    arguments, environment = by_ssh(tmp_path / "programs", "env TOY_WITHOUT_SANDBOXES=1")
    seen: list[Event] = []
    sandbox = "tests.runs.toy:create_broken_provider"
    configuration = oracle("tests.runs.toy:create").but(sandbox=sandbox)
    with fleet_of(
        *arguments, "--local", "1", folder=tmp_path / "fleet", nodes=2, environment=environment
    ) as fleet:
        result = api.NewRun(configuration, on(fleet, retries=0), settings, run_id="bad").work(seen.append)
        problems = [one.problem for one in look(str(fleet.file), sandbox)]
    assert (result.exit_code, result.pending) == (0, 0)
    assert sorted(problems, key=bool) == [None, "the toy engine does not answer"]
    said = [event.message for event in seen if isinstance(event, Warned)]
    assert any("cannot work on this run: the toy engine does not answer" in text for text in said)


class Line:
    """Stands between a node and its scheduler until it is cut; then nothing passes, and neither sees an end."""

    def __init__(self, host: str, port: int) -> None:
        self._there = (host, port)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._other: dict[socket.socket, socket.socket] = {}
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._server, selectors.EVENT_READ)
        self.cut = threading.Event()
        self._passing = threading.Thread(target=self._pass_on)
        self._passing.start()

    def close(self) -> None:
        """End it; its sockets stay open until then."""
        self.cut.set()
        self._passing.join()
        self._ready.close()
        for one in (self._server, *self._other):
            one.close()

    def _pass_on(self) -> None:
        while not self.cut.is_set():
            for key, _ in self._ready.select(0.1):
                if key.fileobj is self._server:
                    near, far = self._server.accept()[0], socket.create_connection(self._there)
                    self._other |= {near: far, far: near}
                    self._ready.register(near, selectors.EVENT_READ)
                    self._ready.register(far, selectors.EVENT_READ)
                else:
                    self._move(key.fileobj)  # type: ignore[arg-type]

    def _move(self, end: socket.socket) -> None:
        data = b""
        with suppress(OSError):
            data = end.recv(65536)
            self._other[end].sendall(data)
        if not data:
            self._ready.unregister(end)
            with suppress(OSError):
                self._other[end].shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("how", ["hung", "cut off"])
def test_a_node_that_falls_silent_is_taken_for_lost(
    settings: Settings, predict: Predict, tmp_path: Path, how: str
) -> None:
    """Stopped, or behind a line on which nothing passes any more: what it had is done by the other one."""
    behaviours = {f"task-{number:04}": "sleep 0.5" for number in range(8)}
    configuration = evaluation(predict(behaviours), "tests.runs.toy:create")
    configuration = configuration.but(tasks=tuple(behaviours))
    with fleet_of(
        "--local", "1", "--slots", "1", "--lost-after", "5", folder=tmp_path / "fleet", nodes=1
    ) as fleet:
        address = read_address(str(fleet.file))
        place = urlsplit(address.scheduler)
        with (
            closing(Line(str(place.hostname), int(place.port or 0))) as line,
            joined(address.but(scheduler=f"tls://127.0.0.1:{line.port}"), fleet) as process,
        ):

            def lose(event: Event) -> None:
                if isinstance(event, AttemptEnded) and how == "hung":
                    os.kill(process.pid, signal.SIGSTOP)
                elif isinstance(event, AttemptEnded):
                    line.cut.set()

            result = api.NewRun(configuration, on(fleet), settings, run_id="silent").work(lose)
    assert (result.exit_code, result.pending) == (0, 0)
    settled = [one.attempt.task for one in RunFolder(result.folder).lines() if one.settles]
    assert sorted(settled) == sorted(behaviours)


@contextmanager
def joined(address: FleetAddress, fleet: RunningFleet) -> Iterator["subprocess.Popen[bytes]"]:
    """Yield a further node, once the fleet's scheduler knows it; it is killed afterwards."""
    argv = [sys.executable, "-m", "groundup", "fleet", "join", "-", "--slots", "1"]
    with (
        fleet.log.open("a") as log,
        subprocess.Popen(argv, stdin=subprocess.PIPE, stderr=log, cwd=ROOT) as process,
    ):
        assert process.stdin
        process.stdin.write(address.model_dump_json().encode())
        process.stdin.close()
        try:
            fleet.said(f":{process.pid} joined ")
            yield process
        finally:
            process.kill()


async def test_an_attempt_that_only_lost_nodes_may_do_is_sent_again() -> None:
    """Others refused the run; Dask would keep for ever what only nodes that are gone may do."""
    workers = {f"tcp://{name}": a_worker(name) for name in "ab"}
    allowed: list[object] = []
    twice = asyncio.Event()

    async def identity(n_workers: int) -> object:
        return {"workers": dict(workers)}

    def submit(*given: object, **demands: Any) -> object:
        allowed.append(demands.get("workers"))
        if len(allowed) == 2:
            twice.set()
        return SimpleNamespace(result=lambda: asyncio.Event().wait(), release=lambda: None)

    scheduler = SimpleNamespace(identity=identity)
    fleet = DaskFleet(SimpleNamespace(scheduler=scheduler, submit=submit), "tcp://s", print)
    await fleet.look()
    fleet._refused_by(NodeAnswer(node="a", address="tcp://a"), "it is old")
    asked = asyncio.create_task(fleet.answer(an_order(), b"", 0))
    await asyncio.sleep(0)
    del workers["tcp://b"]
    workers["tcp://c"] = a_worker("c")
    await fleet.look()
    await asyncio.wait_for(twice.wait(), patient(30))
    asked.cancel()
    assert allowed == [["tcp://b"], ["tcp://c"]]
    del workers["tcp://c"]
    await fleet.look()
    with pytest.raises(MachineError, match="no node can work on this run; the last one was a: it is old"):
        fleet._refused_by(NodeAnswer(node="a", address="tcp://a"), "it is old")


def test_a_node_whose_clock_is_behind_is_let_in() -> None:
    """The fleet's certificate is good from some time ago."""
    made = x509.load_pem_x509_certificate(str(with_new_keys("tls://a:1").certificate).encode())
    assert made.not_valid_before_utc < datetime.now(UTC) - timedelta(days=1)
    assert made.not_valid_after_utc > datetime.now(UTC) + timedelta(days=300)


async def test_who_knocks_and_leaves_costs_others_nothing() -> None:
    """OpenSSL 3.2 and later blames the next connection that is read for one that was broken off."""
    keys = with_new_keys("")
    context: ssl.SSLContext = security(keys).get_connection_args("client")["ssl_context"]
    options = {"host": "127.0.0.1", "port": 0, "protocol": "tls://", "dashboard": False}
    async with distributed.Scheduler(**options, security=security(keys)) as scheduler:
        place = urlsplit(scheduler.address)

        def knock() -> None:
            connection = socket.create_connection((place.hostname, place.port))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # leave at once
            context.wrap_socket(connection).close()

        async with distributed.Client(
            scheduler.address, asynchronous=True, security=security(keys), set_as_default=False
        ) as client:
            for _ in range(40):
                await asyncio.to_thread(knock)
                assert (await client.scheduler.identity())["workers"] == {}
            assert list(scheduler.clients) == ["fire-and-forget", client.id]
