"""A fleet in Kubernetes that grows and shrinks: `python examples/fleet_kubernetes.py IMAGE` prints its address.

It needs `pip install 'groundup[kubernetes]'`, Dask's operator in the cluster, and an image that has groundup with
its extra `fleet`. Checked against the API's schema, never tried on a cluster.
"""

import sys
import time
from typing import Any

from dask_kubernetes.operator import KubeCluster, make_cluster_spec

SLOTS, MEMORY, MOST_NODES = 8, "30Gi", 10


def spec(image: str) -> dict[str, Any]:
    """Return Dask's cluster, whose pods let bubblewrap make namespaces and mount a /proc in them."""
    size = {"cpu": str(SLOTS), "memory": MEMORY}
    cluster: dict[str, Any] = make_cluster_spec(
        "groundup",
        image=image,
        n_workers=0,
        resources={"requests": size, "limits": {"memory": MEMORY}},
        worker_command=["dask", "worker", "--nthreads", str(SLOTS)],
    )
    pod = cluster["spec"]["worker"]["spec"]
    pod["hostUsers"] = False  # Kubernetes allows an unmasked /proc only in a pod with users of its own
    pod["automountServiceAccountToken"] = False  # what is graded there has no business with the cluster
    pod["enableServiceLinks"] = False
    pod["containers"][0]["securityContext"] = {
        "seccompProfile": {"type": "Unconfined"},
        "appArmorProfile": {"type": "Unconfined"},
        "procMount": "Unmasked",
    }
    return cluster


if __name__ == "__main__":
    with KubeCluster(custom_cluster_spec=spec(sys.argv[1])) as fleet:
        fleet.adapt(minimum=0, maximum=MOST_NODES)
        print(fleet.scheduler_address, flush=True)
        while True:
            time.sleep(60)
