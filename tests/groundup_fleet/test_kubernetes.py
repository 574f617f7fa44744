"""A fleet in Kubernetes, as far as that can be known without a cluster: what one is asked for."""

import runpy
from importlib import import_module
from pathlib import Path

from tests.needs import lack

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet_kubernetes.py"


def test_pods_are_what_the_api_s_schema_describes() -> None:
    """No name that Kubernetes would ignore, and no value of another type."""
    try:
        schema = import_module("kubernetes_validate")
        example = runpy.run_path(str(EXAMPLE))
    except ModuleNotFoundError as error:
        lack("kubernetes-validate and dask-kubernetes", error)
    cluster = example["spec"]("groundup:1")["spec"]
    for part in (cluster["worker"], cluster["scheduler"]):
        container = {name: value for name, value in part["spec"]["containers"][0].items() if value is not None}
        pod = {**part["spec"], "containers": [container]}
        schema.validate(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": pod}, "1.33", strict=True
        )
