"""What layers cost on their way between nodes, and what an attempt leaves on disk: for the simulation.

    python benchmarks/fleet_layers.py [--tasks NAMES] [--run FOLDER]

Packs and unpacks the layers of nl2repobench's recipes (all, or those named; built where missing), as nodes
do, and sends the largest one from worker to worker over TLS. Prints sizes, and the speed by processor time of one
process. With `--run`, also what an attempt of that run occupies: all files of its folder, and its lines.
"""

import argparse
import asyncio
import importlib
import statistics
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from groundup.environments.packing import pack_folder, unpack_folder  # noqa: E402
from groundup.environments.requests import Layer  # noqa: E402
from groundup.episodes.backends import backends  # noqa: E402
from groundup.settings import load  # noqa: E402
from groundup.suites.nl2repobench.recipe import shipped_recipes  # noqa: E402
from groundup.trees.digest import tree_digest  # noqa: E402
from groundup_fleet.orders import LayerShelf  # noqa: E402

MB = 1e6
Packed = tuple[Layer, Path, float]
"""A layer, its packed file, and the bytes in it, in MB."""


async def layers_of(tasks: list[str]) -> dict[str, list[Layer]]:
    """Return the layers that grading each task by `strict` uses."""
    recipes = shipped_recipes()
    async with backends("bubblewrap", load()) as tools:
        found = {}
        for task in tasks or sorted(recipes):
            environment = await tools.builder.python(recipes[task].environment.request())
            source = await tools.builder.source(recipes[task].source_request())
            found[task] = [environment.layer, source]
        return found


def content_mb(layer: Layer) -> float:
    """Return the bytes of its files."""
    files = (path for path in layer.path.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / MB


def packed_all(found: dict[str, list[Layer]], folder: Path) -> list[Packed]:
    """Pack and unpack each layer once; print sizes and speeds."""
    layers = {layer.digest: layer for several in found.values() for layer in several}
    packed: list[Packed] = []
    packing_s = unpacking_s = 0.0
    for number, layer in enumerate(layers.values()):
        place, began = folder / f"{number}.packed", time.process_time()
        pack_folder(layer.path, place)
        packing_s += time.process_time() - began
        content, began = tree_digest(layer.path).digest, time.process_time()
        with tempfile.TemporaryDirectory(dir=folder) as room:
            unpack_folder(place, Path(room) / "tree", content)
            unpacking_s += time.process_time() - began
        packed.append((layer, place, content_mb(layer)))
    whole_mb = sum(size for *_, size in packed)
    small = {layer.digest: place.stat().st_size / MB for layer, place, _ in packed}
    each = sorted(sum(small[layer.digest] for layer in several) for several in found.values())
    print(f"{len(layers)} layers of {len(found)} tasks: {whole_mb:,.0f} MB, packed {sum(small.values()):,.0f} MB")
    mean, middle = statistics.mean(each), statistics.median(each)
    print(f"a task's layers, packed: mean {mean:.1f} MB, median {middle:.1f} MB, largest {each[-1]:.1f} MB")
    print(f"packing {whole_mb / packing_s:.0f} MB/s, unpacking with digest {whole_mb / unpacking_s:.0f} MB/s")
    return packed


def taken(holder: str, layer: str) -> tuple[int, float, float]:
    """Take a packed layer from *holder*, in a worker; return bytes, seconds, and this process's processor time."""
    from distributed import get_worker

    from groundup_fleet.orders import _taken

    worker: Any = get_worker()
    with tempfile.TemporaryDirectory() as folder:
        place, began, before = Path(folder) / "packed", time.perf_counter(), time.process_time()
        taking = _taken(worker, holder, layer, place)
        asyncio.run_coroutine_threadsafe(taking, worker.loop.asyncio_loop).result()
        return place.stat().st_size, time.perf_counter() - began, time.process_time() - before


def offered(layer: Layer, folder: str) -> None:
    """Offer a layer, in a worker."""
    from distributed import get_worker

    shelf = LayerShelf(Path(folder))
    shelf._layers["layer"] = (layer, "")
    shelf._read("layer", 0)  # packed now, so that its time is not that of the way
    shelf.offer(get_worker())


def sent(largest: Packed, folder: Path) -> None:
    """Print how fast a packed layer gets from worker to worker."""
    dask: Any = importlib.import_module("distributed")
    options = {"security": dask.Security.temporary(), "dashboard_address": None, "n_workers": 2}
    with dask.LocalCluster(threads_per_worker=1, **options) as cluster, dask.Client(cluster) as client:
        first, second = client.scheduler_info()["workers"]
        client.submit(offered, largest[0], str(folder), workers=[first]).result()
        found = [client.submit(taken, first, "layer", workers=[second], pure=False).result() for _ in range(5)]
    seen = SimpleNamespace(size=found[0][0] / MB, wall_s=statistics.median(one[1] for one in found))
    seen.cpu_s = statistics.median(one[2] for one in found)
    print(f"{seen.size:.1f} MB from worker to worker: {seen.size / seen.wall_s:.0f} MB/s", end="")
    print(f", {seen.size / seen.cpu_s:.0f} MB for a second of the taker's processor")


def kept(run: Path) -> None:
    """Print what an attempt occupies."""
    files = [path for path in run.rglob("*") if path.is_file() and "scratch" not in path.parts]
    attempts = len([path for path in run.glob("attempts/*/*") if path.is_dir()])
    blocks = sum(path.stat().st_blocks * 512 for path in files) / attempts / 1000
    print(
        f"{attempts} attempts: {sum(path.stat().st_size for path in files) / attempts / 1000:.0f} KB each", end=""
    )
    print(f", {blocks:.0f} KB on disk, {len(files) / attempts:.1f} files")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default="")
    parser.add_argument("--run", type=Path)
    given = parser.parse_args()
    if given.run:
        kept(given.run)
    found = asyncio.run(layers_of([name for name in given.tasks.split(",") if name]))
    with tempfile.TemporaryDirectory() as folder:
        packed = packed_all(found, Path(folder))
        sent(max(packed, key=lambda one: one[1].stat().st_size), Path(folder))


if __name__ == "__main__":
    main()
