"""How many fresh repositories become valid DI-Bench instances: `python -m benchmarks.fresh_yield`.

    python -m benchmarks.fresh_yield draw AVAILABLE --seed 20261125   the order in which repositories are asked for
    groundup curate set --kind dibench --list benchmarks/samples/fresh_repositories.jsonl -o fresh --minutes 60
    python -m benchmarks.fresh_yield table fresh                      the table of benchmarks/README.md

The frame is Debian 12: packages `python3-*`, `node-*` and `librust-*` whose Homepage is a repository on GitHub
(AVAILABLE is what `apt-cache dumpavail` prints), without those whose name this project held anywhere before the
draw. In the order of the seed the first 14, 13 and 13 were taken that had ever had a file in `.github/workflows`
and could be fetched. They stand in `samples/fresh_repositories.jsonl` with the newest commit then. What a person
wrote after the run: the cause where no valid instance came of one (`cause`), whether the printed cause says so
(`agrees`), and whether it has no test job or declares nothing that is needed at run time (`outside`).

The set needs the setting `git_mirror` where the repositories are not fetched from GitHub; GROUNDUP_CI_TIMEOUT_S
was 600.
"""

import argparse
import json
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from groundup_factory.set_entries import read_entries

SAMPLES = Path(__file__).parent / "samples" / "fresh_repositories.jsonl"
PREFIXES = {"python": "python3-", "javascript": "node-", "rust": "librust-"}
_ADDRESS = re.compile(r"https?://\S+|(?<=ENOTFOUND )\S+")
_PAGE = re.compile(r"https?://(?:www\.)?github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?(?:[/#].*)?")


def drawn(available: str, seed: int) -> Iterator[tuple[str, str]]:
    """Yield language and repository in the order of *seed*, those that this project names left out."""
    grep = ["git", "grep", "-h", "-I", "-o", "-i", "-E", "[a-z0-9_.-]+"]
    words = set(subprocess.run(grep, capture_output=True, text=True, check=True).stdout.lower().split())
    for language, prefix in PREFIXES.items():
        found: dict[str, str] = {}
        for paragraph in available.split("\n\n"):
            fields = dict(re.findall(r"^(Package|Homepage): (.*)$", paragraph, re.MULTILINE))
            page = _PAGE.fullmatch(fields.get("Homepage", "").rstrip("/"))
            if page is not None and fields["Package"].startswith(prefix):
                found.setdefault(page[1].lower(), page[1])
        order = sorted(found)
        random.Random(f"{seed} {language}").shuffle(order)
        yield from ((language, found[one]) for one in order if one.rpartition("/")[2] not in words)


def read_samples() -> list[dict[str, Any]]:
    """Return the drawn repositories."""
    return [json.loads(line) for line in SAMPLES.read_text(encoding="utf-8").splitlines() if line.strip()]


def table(folder: Path) -> Iterator[str]:
    """Yield the table of the set in *folder*: counts, then a line for each repository that is no task of it."""
    entries = {one.entry.partition("@")[0].removeprefix("github.com/"): one for one in read_entries(folder)}
    rows = []
    counts = {language: [0, 0, 0, 0] for language in PREFIXES}
    for sample in read_samples():
        name = sample["repository"]
        one = entries.get(name)
        numbers = counts[sample["language"]]
        measured = one is not None and one.standing != "failed"
        valid = one is not None and one.standing == "accepted"
        for at, counted in enumerate((True, not sample.get("outside"), measured, valid)):
            numbers[at] += counted and (at == 0 or not sample.get("outside"))
        if one is not None and measured and not valid:
            told = _ADDRESS.sub("<address>", one.why).replace("|", "\\|")
            agrees = {"True": "yes", "False": "**no**"}.get(str(sample.get("agrees")), "?")
            rows.append(
                f"| {name} | {one.step}: {one.cause} | {sample.get('cause', '?')} | {told[:200]} | {agrees} |"
            )
    yield "| language | drawn | test job and run-time dependencies | of these measured | valid |"
    yield "|---|---:|---:|---:|---:|"
    every = [sum(column) for column in zip(*counts.values(), strict=True)]
    for language, numbers in [*counts.items(), ("all", every)]:
        yield f"| {language} | {' | '.join(map(str, numbers))} |"
    yield ""
    yield "| repository | standing | true cause, found by hand | printed cause | agree |"
    yield "|---|---|---|---|---|"
    yield from rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("draw", "table"))
    parser.add_argument("place", type=Path)
    parser.add_argument("--seed", type=int, default=20261125)
    asked = parser.parse_args(arguments)
    if asked.what == "draw":
        for language, repository in drawn(asked.place.read_text(encoding="utf-8"), asked.seed):
            print(language, repository)
    else:
        print("\n".join(table(asked.place)))


if __name__ == "__main__":
    main()
