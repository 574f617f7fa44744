"""Runs on fleets of real nodes: the same folder as on one machine, whatever dies on the way."""

import json
import multiprocessing
import os
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from groundup.domain.errors import MachineError, UsageError
from groundup.domain.verdicts import counted
from groundup.runs import api
from groundup.runs.plan import RunOptions
from groundup.runs.progress import AttemptEnded, Event, Warned
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import FleetFile, Predictions
from groundup_fleet.api import join_fleet, look
from groundup_fleet.clusters import FleetAddress, parsed, read_address, ssh_nodes, with_new_keys
from groundup_fleet.driver import DaskFleet
from groundup_fleet.node import MEMORY
from groundup_fleet.orders import NodeAnswer, Order
from tests.cli.conftest import Groundup, groundup
from tests.groundup_fleet.fleets import ROOT, RunningFleet, by_ssh, fleet_of, worker_here
from tests.groundup_fleet.test_orders import an_order
from tests.needs import lack
from tests.patience import patient
from tests.runs.configurations import BUILDER, evaluation, oracle
from tests.runs.conftest import predict, settings
from tests.serving.house import Client, job_in, opened

__all__ = ["groundup", "predict", "settings"]
Predict = Callable[[Mapping[str, str]], Predictions]
TIMES = ("started_at", "finished_at", "timings_s", "chain")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningFleet]:
    """Two nodes of one slot each, with keys."""
    folder = tmp_path_factory.mktemp("fleet")
    with fleet_of("--local", "2", "--slots", "1", folder=folder, nodes=2) as made:
        yield made


def on(fleet: RunningFleet, **options: Any) -> RunOptions:
    """Return options of a run on *fleet*."""
    usual = {"retry_delay_s": 0, "use_cache": False, "workers": str(fleet.file)}
    return RunOptions.model_validate({**usual, **options})


def untimed(folder: Path) -> list[object]:
    """Return the verdict lines of a run, in the order of attempts, without times."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(one) for key, one in value.items() if key not in TIMES}
        return value

    lines = [without(json.loads(line)) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    return sorted(lines, key=lambda line: str(line["attempt"]))


def files(folder: Path) -> list[str]:
    """Return the paths in a run's folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.name != ".lock")


def test_a_run_on_a_fleet_leaves_the_folder_that_a_local_run_leaves(
    fleet: RunningFleet, settings: Settings
) -> None:
    """Verdict lines, evidence and submissions, but for times."""
    configuration = oracle("tests.runs.toy:create")
    here = api.NewRun(configuration, RunOptions(jobs=2, use_cache=False), settings, run_id="here").work()
    seen: list[Event] = []
    there = api.NewRun(configuration, on(fleet), settings, run_id="there").work(seen.append)
    shown = [event.standing.fleet for event in seen if isinstance(event, AttemptEnded)]
    # A short run may look only once, and at a node that does not offer its memory yet.
    assert {(1, 1), (2, 2)} >= {(one.nodes, one.slots) for one in shown if one} != set()
    assert (here.exit_code, there.exit_code) == (0, 0)
    assert untimed(here.folder) == untimed(there.folder)
    assert files(here.folder) == files(there.folder)


def test_errors_on_nodes_are_blamed_as_they_are_here(
    fleet: RunningFleet, settings: Settings, predict: Predict
) -> None:
    """A submission's fault is a zero; the machine's and the task's are pending."""
    predictions = predict({"task-0000": "submission", "task-0001": "infrastructure", "task-0002": "task"})
    configuration = evaluation(predictions, "tests.runs.toy:create")
    result = api.NewRun(configuration, on(fleet, retries=0), settings, run_id="blamed").work()
    latest = {str(key): line for key, line in RunFolder(result.folder).latest().items()}
    verdicts = {name: latest[f"{name}/0"].verdict for name in ("task-0000", "task-0001", "task-0002")}
    assert [verdict and verdict.status.value for verdict in verdicts.values()] == [
        "graded",
        "infrastructure",
        "infrastructure",
    ]
    assert result.exit_code == 3


def test_a_large_submission_arrives(fleet: RunningFleet, settings: Settings, predict: Predict) -> None:
    """It goes to a node directly, past the scheduler."""
    predictions = predict({"task-0000": "sleep 0", "task-0001": "sleep 0"})
    (Path(predictions.path) / "task-0000" / "blob").write_bytes(os.urandom(3_000_000))
    result = api.NewRun(evaluation(predictions), on(fleet), settings, run_id="large").work()
    assert result.exit_code == 0


async def test_a_server_has_its_episodes_graded_there(fleet: RunningFleet, tmp_path: Path) -> None:
    """The reward is that of a node, and what fails there is named with it."""
    async with opened(job_in(tmp_path, workers=str(fleet.file))) as house, Client(house.address) as client:
        for behaviour in ("half", "infrastructure"):
            sid = await client.create()
            await client.bash(sid, f"behave {behaviour}")
            await client.call(sid, "submit")
            await client.post("/delete", sid=sid)
    graded, failed = (line.verdict for line in house.lines())
    assert graded
    assert counted(graded) == 0.5
    assert failed
    assert "(on the node " in failed.reasons[0].message


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Where nodes can have sockets: a socket's path has at most 107 bytes."""
    with TemporaryDirectory(prefix="t", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def test_a_killed_node_loses_nothing_and_another_joins(
    settings: Settings, predict: Predict, tmp_path: Path, short_folder: Path
) -> None:
    """What it did is done again, elsewhere; each attempt has one verdict. The next one removes its folders."""
    behaviours = {f"task-{number:04}": "sleep 1" for number in range(12)}
    configuration = evaluation(predict(behaviours), "tests.runs.toy:create")
    arguments, place = ("--local", "2", "--slots", "2"), {"TMPDIR": str(short_folder)}
    with fleet_of(*arguments, folder=tmp_path / "fleet", nodes=2, environment=place) as fleet:
        first, ended = fleet.nodes()[0], 0

        def kill(event: Event) -> None:
            nonlocal ended
            ended += isinstance(event, AttemptEnded)
            if ended == 1 and isinstance(event, AttemptEnded):
                os.kill(first, signal.SIGKILL)

        result = api.NewRun(configuration, on(fleet, retries=3), settings, run_id="killed").work(kill)
        fleet.said(" is there: ", 3)
        until = time.monotonic() + patient(60)
        while len(list(short_folder.glob("groundup-*/scratch/layers-*"))) != 2:
            assert time.monotonic() < until
            time.sleep(0.05)
    lines = [line for line in RunFolder(result.folder).lines() if line.settles and line.verdict]
    assert sorted(line.attempt.task for line in lines) == sorted(behaviours)


def test_a_killed_driver_s_run_is_finished_while_the_nodes_go_on(
    fleet: RunningFleet, settings: Settings, predict: Predict
) -> None:
    """Another driver asks the same nodes; what had a verdict is not asked again, and no attempt has two."""
    behaviours = {f"task-{number:04}": "sleep 1" for number in range(6)}
    configuration = evaluation(predict(behaviours), "tests.runs.toy:create")
    work, folder = (configuration, on(fleet), settings), settings.output / "driven"
    driver = multiprocessing.get_context("spawn").Process(target=api.NewRun(*work, run_id=folder.name).work)
    driver.start()
    until = time.monotonic() + patient(120)
    while not (folder / "verdicts.jsonl").exists() or not list(RunFolder(folder).lines()):
        assert driver.is_alive(), driver.exitcode
        assert time.monotonic() < until
        time.sleep(0.05)
    driver.kill()
    driver.join()
    before = len(list(RunFolder(folder).lines()))
    result = api.Resumption(folder, on(fleet), settings).work()
    lines = list(RunFolder(folder).lines())
    assert (result.pending, {line.start for line in lines[before:]}) == (0, {1})
    tasks = [line.attempt.task for line in lines if line.settles]
    assert len(tasks) == len(set(tasks)) == len(RunFolder(folder).config().planned.keys)


def test_a_run_s_folder_shows_its_nodes_while_it_goes_on(
    fleet: RunningFleet, settings: Settings, predict: Predict
) -> None:
    """What each grades comes from the nodes themselves; in the end the file is gone."""
    seen: list[FleetFile] = []

    def look(_: Event) -> None:
        seen.extend(filter(None, [RunFolder(settings.output / "shown").fleet()]))

    behaviours = {f"task-{number:04}": "sleep 2" for number in range(6)}  # busy nodes tell late what they grade
    configuration = evaluation(predict(behaviours), "tests.runs.toy:create")
    result = api.NewRun(configuration, on(fleet), settings, run_id="shown").work(look)
    assert result.exit_code == 0
    assert [one.slots for one in seen[-1].nodes] == [1, 1]
    assert max(one.grading for now in seen for one in now.nodes) == 1
    assert RunFolder(result.folder).fleet() is None


def fleet_with(workers: Mapping[str, object], said: Callable[[str], None] = print) -> DaskFleet:
    """Return a connection to a scheduler that has *workers* now."""

    async def identity(n_workers: int) -> object:
        return {"workers": dict(workers)}

    return DaskFleet(SimpleNamespace(scheduler=SimpleNamespace(identity=identity)), "tcp://s", said)


def a_worker(name: str, slots: int = 1, memory_mb: int = 1000, **metrics: object) -> dict[str, object]:
    """Return what a scheduler says of a node."""
    return {"name": name, "nthreads": slots, "resources": {MEMORY: memory_mb}, "metrics": metrics}


async def test_a_node_s_own_counts_are_believed_only_as_far_as_they_are_counts() -> None:
    """A worker that somebody has taken over must not stop the driver."""
    said: list[object] = [{"grading": 3, "arriving": 1}, {"name": "x"}, 7]
    fleet = fleet_with({str(number): a_worker(str(number), groundup=one) for number, one in enumerate(said)})
    await fleet.look()
    found = [(one.name, one.grading, one.arriving) for one in fleet.standing().nodes]
    assert found == [("0", 3, 1), ("1", 0, 0), ("2", 0, 0)]


async def test_nodes_that_come_go_and_rest_later_are_named() -> None:
    """Those of the beginning are not announced: everybody expects them."""
    workers, said = {"tcp://a": a_worker("a", 2)}, list[str]()
    fleet = fleet_with(workers, said.append)
    await fleet.look()
    assert (said, fleet.slots) == ([], {"tcp://a": 2})
    workers["tcp://b"] = a_worker("b", 4)
    await fleet.look()
    workers["tcp://a"] = a_worker("a", 2, 0)
    await fleet.look()
    assert fleet.slots == {"tcp://b": 4}
    workers.clear()
    await fleet.look()
    assert said[:2] == [
        "the node b is there, with 4 slots",
        "the node a rests, for its disk is full; free some there",
    ]
    assert set(said[2:4]) == {f"the node {name} left; what it had is done elsewhere" for name in "ab"}
    assert said[4:] == ["no node is left; the run waits for one"]


class Answering(DaskFleet):
    """Answers orders as one node would that always finds the same in a layer, or something else."""

    found = "sha256:1"

    order: Order
    near: Sequence[str]

    async def _done(self, function: object, arguments: Any, demands: Mapping[str, Any]) -> Any:
        self.order, self.near = arguments[0], demands.get("workers", [])
        layers = {"python/sha256:0": self.found}
        return NodeAnswer(node="a", address=self.address, layers=layers)

    address = "tcp://a"


async def test_a_task_goes_to_nodes_that_have_its_layers() -> None:
    """As far as they have slots; others hear whom to ask, and what the first node found in each layer."""
    workers = {f"tcp://{name}": a_worker(name) for name in "abc"}

    async def identity(n_workers: int) -> object:
        return {"workers": dict(workers)}

    fleet = Answering(SimpleNamespace(scheduler=SimpleNamespace(identity=identity)), "tcp://s", print)
    await fleet.look()
    await fleet.answer(an_order(), b"", 0)
    assert (fleet.near, fleet.order.holders, fleet.order.layers) == ([], (), {})
    await fleet.answer(an_order(), b"", 0)
    assert fleet.near == ["tcp://a"]
    assert (fleet.order.holders, fleet.order.layers) == (("tcp://a",), {"python/sha256:0": "sha256:1"})
    fleet.address, fleet.found = "tcp://b", "sha256:2"  # a layer with another digest is not shared
    await fleet.answer(an_order(), b"", 0)
    await fleet.answer(an_order(), b"", 0)
    assert fleet.order.holders == ("tcp://a",)
    del workers["tcp://a"]
    await fleet.look()
    await fleet.answer(an_order(), b"", 0)
    assert not fleet.near
    assert not fleet.order.holders


def test_a_node_may_be_idle_for_half_a_minute() -> None:
    """Dask looks once a second, and would end it after three; what people set wins."""
    said = "import dask; from groundup_fleet.clusters import configure; configure(); print(dask.config.get({!r}))"
    words = [sys.executable, "-c", said.format("distributed.adaptive.wait-count")]
    for more, idle in (({}, "30"), ({"DASK_DISTRIBUTED__ADAPTIVE__WAIT_COUNT": "2"}, "2")):
        ended = subprocess.run(words, env={**os.environ, **more}, capture_output=True, text=True, check=True)
        assert ended.stdout.strip() == idle


def test_a_fleet_brings_nodes_when_there_is_work_and_ends_them_after_it(
    settings: Settings, predict: Predict, tmp_path: Path
) -> None:
    """It begins without any, and ends without any."""
    behaviours = {f"task-{number:04}": "sleep 1" for number in range(20)}
    configuration = evaluation(predict(behaviours), "tests.runs.toy:create_thousand")
    configuration = configuration.but(tasks=tuple(behaviours))
    soon = {"DASK_DISTRIBUTED__ADAPTIVE__WAIT_COUNT": "2"}
    arguments = ("--local", "2", "--slots", "1", "--minimum", "0")
    with fleet_of(*arguments, folder=tmp_path / "fleet", nodes=0, environment=soon) as fleet:
        fleet.said("address is in")
        assert not fleet.nodes()
        seen: list[Event] = []
        result = api.NewRun(configuration, on(fleet), settings, run_id="grown").work(seen.append)
        fleet.said(" left", len(fleet.nodes()))
    told = [
        event
        for event in seen
        if isinstance(event, Warned) or (isinstance(event, AttemptEnded) and not event.line.settles)
    ]
    assert (result.exit_code, result.pending) == (0, 0), "\n".join(event.model_dump_json() for event in told)
    assert len(fleet.nodes()) >= 2  # one that ended as the work grew less may have been begun again


def test_a_cluster_of_dask_s_own_that_adapts_from_zero_is_a_fleet(settings: Settings) -> None:
    """Its workers become nodes when they come; groundup started none of them."""
    with worker_here(0) as cluster:
        cluster.adapt(minimum=0, maximum=1, interval="100ms")
        options = RunOptions(workers=cluster.scheduler_address, use_cache=False)
        result = api.NewRun(oracle("tests.runs.toy:create"), options, settings, run_id="adapted").work()
    assert (result.exit_code, result.pending) == (0, 0)


def test_jobs_of_slurm_are_nodes(settings: Settings, tmp_path: Path) -> None:
    """The fleet asks Slurm for them when there is work, and cancels them after it; no key stays."""
    tried = shutil.which("sinfo") and subprocess.run(["sinfo"], capture_output=True, check=False)
    if not tried or tried.returncode or find_spec("dask_jobqueue") is None:
        lack("Slurm and dask-jobqueue", tried and tried.stderr)
    place = {"PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__ADAPTIVE__WAIT_COUNT": "2"}
    arguments = ("--slurm", "1", "--minimum", "0", "--slots", "1", "--memory-mb", "500")
    with fleet_of(*arguments, folder=tmp_path, nodes=0, environment=place) as fleet:
        fleet.said("address is in")
        result = api.NewRun(oracle("tests.runs.toy:create"), on(fleet), settings, run_id="jobs").work()
        fleet.said(" left", 1)
    assert (result.exit_code, result.pending) == (0, 0)
    assert not list((tmp_path / "fleet.json.nodes").glob(".*"))


def test_a_folder_too_long_for_sockets_is_named(tmp_path: Path) -> None:
    """A cluster's TMPDIR may be that long; its nodes could not be forked."""
    folder = tmp_path / ("t" * 80)
    folder.mkdir()
    words = [
        sys.executable,
        "-m",
        "groundup",
        "fleet",
        "up",
        "--local",
        "1",
        "--address-file",
        str(tmp_path / "f"),
    ]
    ended = subprocess.run(
        words, env={**os.environ, "TMPDIR": str(folder)}, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1), ended.stderr
    assert "too long for sockets" in ended.stderr


def test_a_run_without_a_scheduler_is_refused_in_one_sentence(settings: Settings) -> None:
    """Nothing listens there; the folder stays and can be resumed."""
    options = RunOptions(workers="tcp://127.0.0.1:1", retry_delay_s=0)
    with pytest.raises(MachineError, match=r"no Dask scheduler answers at tcp://127.0.0.1:1"):
        api.NewRun(oracle(), options, settings, run_id="nowhere").work()


def test_the_file_with_keys_is_its_owners_alone_and_goes_with_the_fleet(tmp_path: Path) -> None:
    """Who has the keys can run code on every node."""
    with fleet_of("--local", "1", "--slots", "1", folder=tmp_path, nodes=1) as fleet:
        assert stat.S_IMODE(fleet.file.stat().st_mode) == 0o600
        address = read_address(str(fleet.file))
        assert address.scheduler.startswith("tls://")
        assert not address.is_open
        options = RunOptions(workers=address.scheduler, retry_delay_s=0)
        settings = Settings(cache_dir=tmp_path / "c", output=tmp_path / "runs", builder=BUILDER)
        with pytest.raises(UsageError, match="takes keys"):
            api.NewRun(oracle(), options, settings, run_id="none").work()
        with socket.create_connection(
            (urlsplit(address.scheduler).hostname, urlsplit(address.scheduler).port)
        ) as bare:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with pytest.raises(ssl.SSLError), context.wrap_socket(bare) as wrapped:
                wrapped.recv(1)
    assert not fleet.file.exists()


def test_addresses_that_are_none_are_named(tmp_path: Path) -> None:
    """A missing file, and one that holds something else."""
    with pytest.raises(UsageError, match="neither an address such as"):
        read_address(str(tmp_path / "absent"))
    (tmp_path / "wrong").write_text("{}")
    with pytest.raises(UsageError, match="the address file"):
        read_address(str(tmp_path / "wrong"))
    with pytest.raises(UsageError, match="standard input holds no"):  # of a node whose `ssh` was cut off
        parsed("", "standard input")
    assert read_address("tcp://host:1") == FleetAddress(scheduler="tcp://host:1")
    with pytest.raises(UsageError, match="give the name of the file") as raised:
        read_address('{"scheduler": "tls://host:1", "key": "secret"}\n')
    assert "secret" not in str(raised.value)


TOY = "tests.runs.toy:create_written"


@pytest.mark.parametrize(
    "command",
    [
        ("run", TOY, "-a", "nop"),
        ("evaluate", TOY, "-p", "handed"),
        ("resume", "cut"),
        ("regrade", "cut"),
        ("serve", TOY),
    ],
)
def test_a_dry_run_refuses_a_fleet_that_cannot_be(
    groundup: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """As the run itself does, in each command that takes --workers; whether one answers is not asked."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "handed/task-0000").mkdir(parents=True)
    assert groundup("run", TOY, "-a", "nop", "--run-id", "cut").code == 0
    refused = groundup(*command, "--dry-run", "--workers", "nofile.json")
    assert (refused.code, refused.out) == (2, "")
    assert "nofile.json is neither an address such as tcp://host:8786 nor a file" in refused.err
    assert "takes keys" in groundup(*command, "--dry-run", "--workers", "tls://127.0.0.1:1").err
    assert groundup(*command, "--dry-run", "--workers", "tcp://127.0.0.1:1").code == 0


def test_other_machines_get_the_address_on_standard_input() -> None:
    """No key stands in a command line, where every user could read it."""
    (alpha,) = ssh_nodes(["alpha"], 4, None, "/opt/a b/groundup")
    assert alpha.argv[-2:] == ("alpha", "'/opt/a b/groundup' fleet join - --slots 4")


def test_wrong_keys_are_told_from_a_scheduler_that_is_gone(fleet: RunningFleet, tmp_path: Path) -> None:
    """A run, `fleet doctor` and `fleet join` say so at once."""
    file = tmp_path / "others.json"
    file.write_text(with_new_keys(read_address(str(fleet.file)).scheduler).model_dump_json())
    settings = Settings(cache_dir=tmp_path / "c", output=tmp_path / "runs", builder=BUILDER)
    asked = (
        lambda: api.NewRun(oracle(), RunOptions(workers=str(file)), settings, run_id="none").work(),
        lambda: look(str(file), "fake"),
        lambda: join_fleet(str(file), 1, 100, print),
    )
    for ask in asked:
        with pytest.raises(UsageError, match="does not take these keys"):
            ask()


def test_a_node_over_ssh_joins_and_works(settings: Settings, tmp_path: Path) -> None:
    """The user's `ssh` decides how a host is reached; here it stands for one that runs the command at once."""
    arguments, environment = by_ssh(tmp_path / "programs")
    with fleet_of(*arguments, folder=tmp_path / "fleet", nodes=1, environment=environment) as fleet:
        result = api.NewRun(oracle(), on(fleet), settings, run_id="ssh").work()
    assert result.exit_code == 0
