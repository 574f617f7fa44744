"""The mini set: real repositories as DI-Bench instances.

    python -m benchmarks.mini_set --output FOLDER [--mirror BASE]

`samples/mini_set.jsonl` names repositories, commits, jobs and legs; nothing of the repositories is kept here. They
are fetched from where they are published, or from a mirror (the setting `git_mirror`). FOLDER then is data that
`groundup data pull dibench --from FOLDER` takes in; its name is the subset's.
"""

import argparse
import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

from groundup.domain.errors import GroundupError
from groundup.settings import Settings, load
from groundup_factory.instances.making import InstanceRequest, add_instance

SAMPLES = Path(__file__).parent / "samples" / "mini_set.jsonl"


def wanted(samples: Path, only: str | None) -> Iterator[InstanceRequest]:
    """Yield what is listed, in its order; *only* is a part of a repository's name or a language."""
    for line in samples.read_text(encoding="utf-8").splitlines():
        sample = json.loads(line)
        if only is None or only in sample["repository"] or only == sample["language"]:
            del sample["layout"]
            yield InstanceRequest.model_validate(sample)


async def make(samples: Path, output: Path, settings: Settings, only: str | None) -> int:
    """Make every instance; return how many could not be made."""
    failed = 0
    for one in wanted(samples, only):
        try:
            made = await add_instance(one, output, settings)
        except GroundupError as error:
            failed += 1
            print(f"{one.repository}: {error}", flush=True)
            continue
        masked = sum(len(file.dependencies) for file in made.report.masked)
        print(
            f"{made.instance.instance_id}: {masked} dependencies of {len(made.instance.build_files)} files, "
            f"{len(made.report.removed)} lock files removed, {len(made.report.leaks)} leaks",
            flush=True,
        )
    return failed


def main() -> int:
    """Make the set; exit with 1 when an instance is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--mirror", help="base, or pattern with {host}, {owner} and {name}")
    parser.add_argument("--only", help="a language, or a part of a repository's name")
    parser.add_argument("--samples", type=Path, default=SAMPLES)
    arguments = parser.parse_args()
    settings = load({"git_mirror": arguments.mirror} if arguments.mirror else {})
    return int(asyncio.run(make(arguments.samples, arguments.output, settings, arguments.only)) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
