"""Nodes in a Kubernetes cluster, as far as that can be known without one: what it is asked for, and when."""

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from groundup.api.fleet import up
from groundup.domain.errors import MachineError, UsageError
from groundup.fleet.addresses import FleetAddress
from groundup.fleet.kubernetes import ClusterNodes
from groundup.fleet.nodes import NodeSize
from groundup.runs import api
from groundup.settings import Settings
from tests.fleet.fleets import fleet_of, standing_in
from tests.fleet.test_fleet import on
from tests.needs import lack
from tests.runs.configurations import oracle
from tests.runs.conftest import settings

__all__ = ["settings"]
CLUSTER = """
import json, os, pathlib, subprocess, sys
asked = json.load(sys.stdin)
secret, deployment = asked["items"]
verb = next(word for word in sys.argv[1:] if not word.startswith("-"))
with open(f"{verb}.json", "w") as file:
    json.dump([sys.argv[1:], asked], file)
if verb == "apply":
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    for volume in pod["volumes"]:
        path = pathlib.Path(volume["name"])
        path.mkdir()
        if "secret" in volume:
            assert volume["secret"]["secretName"] == secret["metadata"]["name"]
            for name, text in secret["stringData"].items():
                (path / name).write_text(text)
    def inside(text):
        for name, place in mounts.items():
            text = text.replace(place, os.path.abspath(name))
        return text
    variables = {one["name"]: inside(one["value"]) for one in container["env"]}
    command = list(map(inside, container["command"]))
    for number in range(deployment["spec"]["replicas"]):
        with open("fleet/fleet.log", "a") as log:
            subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **variables}, cwd=ROOT)
"""
"""A cluster on this machine: it runs the containers' command with their volumes, and notes what it was asked."""


def test_pods_join_and_work_and_go_with_the_fleet(settings: Settings, tmp_path: Path) -> None:
    """The command of the container finds address and keys where the Secret is mounted."""
    cluster, programs = tmp_path / "cluster.py", tmp_path / "programs"
    cluster.write_text(CLUSTER.replace("ROOT", repr(str(Path.cwd()))))
    standing_in(programs, "kubectl", f'cd {tmp_path} && exec {sys.executable} {cluster} "$@"')
    program = standing_in(programs, "groundup", f'exec {sys.executable} -m groundup "$@"')
    nodes = ["--kubernetes", "2", "--image", "groundup:1", "--slots", "1", "--program", str(program)]
    nodes.append("--kubectl-option=--namespace=mine")
    environment = {"PATH": f"{programs}:{os.environ['PATH']}"}
    with fleet_of(*nodes, folder=tmp_path / "fleet", nodes=2, environment=environment) as fleet:
        result = api.run(oracle(), on(fleet), settings, run_id="pods")
    assert result.exit_code == 0
    applied, deleted = (json.loads((tmp_path / f"{verb}.json").read_text()) for verb in ("apply", "delete"))
    assert applied[0] == ["--namespace=mine", "apply", "--filename=-"]
    assert deleted[0][:2] == ["--namespace=mine", "delete"]
    assert applied[1] == deleted[1]


def test_objects_are_what_the_api_s_schema_describes() -> None:
    """No name that Kubernetes would ignore, and no value of another type."""
    try:
        schema = import_module("kubernetes_validate")
    except ModuleNotFoundError as error:
        lack("kubernetes-validate", error)
    address = FleetAddress(scheduler="tls://10.0.0.5:8786", ca="a", certificate="b", key="c")
    asked: Any = ClusterNodes(3, NodeSize(8, 30000), "groundup:1").objects(address)
    for one in asked["items"]:
        schema.validate(one, "1.33", strict=True)


def test_what_a_cluster_does_not_want_is_said_in_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An image must be named; what `kubectl` says is shown."""
    file = str(tmp_path / "fleet.json")
    with pytest.raises(UsageError, match="--image"):
        up(print, kubernetes=1, address_file=file)
    standing_in(tmp_path / "programs", "kubectl", "echo 'error: no such cluster' >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path / "programs"), prepend=os.pathsep)
    with pytest.raises(MachineError, match="no such cluster"):
        up(print, kubernetes=1, image="groundup:1", address_file=file)
    assert not Path(file).exists()
