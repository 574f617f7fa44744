"""Made tests of services beside the published ones: do they notice the same changes?

    cp -r src/groundup/suites/repogenesis/oracles/NAME COPY    # and make COPY a Git repository with one commit
    groundup curate set COPY... --kind service -o FOLDER
    python -m benchmarks.service_agreement FOLDER [--mutants 12] [--json FILE]

FOLDER is a set made of references of RepoGenesis, without their published tests. Each reference is changed in the
handlers of its routes (`curation.services.mutants`); each mutant is graded by the made tests and by the published
ones, whose data must be at hand. A mutant is noticed where fewer tests pass than of the reference.
"""

import argparse
import asyncio
import sys
from pathlib import Path

from groundup.domain.records import Record
from groundup.episodes.backends import opened_context
from groundup.settings import load
from groundup.suites.places import data_folder
from groundup.suites.repogenesis.endpoints import path_shape
from groundup.suites.repogenesis.tasks import ServiceProblem, read_dataset, read_services, write_oracle
from groundup_factory.services.proving import Prover, mutants_of, mutated
from groundup_factory.services.references import DeploymentRoom


class Compared(Record):
    """What both kinds of tests said of one mutant."""

    task: str
    kind: str
    place: str
    told: str
    made: bool
    published: bool


async def compared(
    made: ServiceProblem, published: ServiceProblem, most: int, room: DeploymentRoom
) -> list[Compared]:
    """Grade the mutants of one reference by both."""
    reference = room.next().scratch / "reference"
    await asyncio.to_thread(write_oracle, published.task.id, reference)
    assert made.reference is not None
    ours, theirs = Prover(made, load(), room), Prover(published, load(), room)
    full = len(await ours.passed(made.reference)), len(await theirs.passed(reference))
    print(f"{published.task.id}: made {full[0]}, published {full[1]} tests pass", flush=True)
    wanted = [(one.method, path_shape(one.path)) for one in (*made.task.endpoints, *published.task.endpoints)]
    found = []
    for mutant in mutants_of(reference, wanted, most):
        counts = []
        for prover, tree in ((ours, made.reference), (theirs, reference)):
            folder = await asyncio.to_thread(mutated, tree, mutant, room)
            counts.append(len(await prover.passed(folder)))
        one = Compared(
            task=published.task.id,
            kind=mutant.kind,
            place=f"{mutant.file}:{mutant.line}",
            told=mutant.told,
            made=counts[0] < full[0],
            published=counts[1] < full[1],
        )
        print(f"  made {counts[0]} published {counts[1]}: {one.kind} {one.place} {one.told}", flush=True)
        found.append(one)
    return found


async def main(folder: Path, most: int, output: Path | None) -> int:
    """Print a line per mutant and the counts; return the exit code."""
    settings = load()
    data = data_folder("repogenesis", settings)
    if data is None:
        print("fetch the published data first: groundup data pull repogenesis")
        return 2
    published = {one.task.id: one for one in read_dataset(data).problems}
    found: list[Compared] = []
    async with opened_context(settings) as context:
        room = DeploymentRoom(context)
        for made in read_services(folder)[0].values():
            name = made.task.id.partition("@")[0]
            if name in published:
                found += await compared(made, published[name], most, room)
    for name in sorted({one.task for one in found}):
        print(_line(name, [one for one in found if one.task == name]))
    print(_line("all", found))
    if output is not None:
        output.write_text("".join(f"{one.model_dump_json()}\n" for one in found))
    return 0


def _line(name: str, found: list[Compared]) -> str:
    both = sum(one.made and one.published for one in found)
    neither = sum(not one.made and not one.published for one in found)
    only_made = sum(one.made and not one.published for one in found)
    only_published = len(found) - both - neither - only_made
    return (
        f"{name}: {len(found)} mutants, {both + neither} alike ({both} by both, {neither} by neither), "
        f"{only_made} only by the made, {only_published} only by the published tests"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mutants", type=int, default=12)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    sys.exit(asyncio.run(main(given.folder, given.mutants, given.json)))
