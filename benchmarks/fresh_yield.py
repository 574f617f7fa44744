"""How many fresh repositories become valid DI-Bench instances: `python -m benchmarks.fresh_yield`.

    python -m benchmarks.fresh_yield draw AVAILABLE --seed 20261125   the order in which repositories are asked for
    python -m benchmarks.fresh_yield run --out FOLDER [-k 3]          make and validate every instance, unattended
    python -m benchmarks.fresh_yield table --out FOLDER               the table of benchmarks/README.md

The frame is Debian 12: packages `python3-*`, `node-*` and `librust-*` whose Homepage is a repository on GitHub
(AVAILABLE is what `apt-cache dumpavail` prints), without those whose name this project held anywhere before the
draw. In the order of the seed the first 14, 13 and 13 were taken that had ever had a file in `.github/workflows`
and could be fetched. They stand in `samples/fresh_repositories.jsonl` with the newest commit then. What a person
wrote after the run: the cause where no valid instance came of one (`cause`), whether the printed cause says so
(`agrees`), and whether it has no test job or declares nothing that is needed at run time (`outside`).

`run` needs the setting `git_mirror` where the repositories are not fetched from GitHub. It continues after an
interruption: instances and validations that are there are kept.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent / "samples" / "fresh_repositories.jsonl"
PREFIXES = {"python": "python3-", "javascript": "node-", "rust": "librust-"}
MAKING_S = 300
VALIDATING_S = 3600
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


def groundup(*arguments: str, timeout_s: float | None = None) -> tuple[int, str]:
    """Run the command line; return its exit code and the lines that it says."""
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "groundup", *arguments],
            capture_output=True, text=True, check=False, timeout=timeout_s,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 124, f"groundup: not done within {timeout_s:.0f} s"
    return ended.returncode, ended.stdout + ended.stderr


def make(sample: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Make one instance; return what was said of it."""
    code, said = groundup(
        "curate", "instance", f"github.com/{sample['repository']}", "-l", sample["language"],
        "--commit", sample["commit"], "-o", str(folder), timeout_s=MAKING_S,
    )  # fmt: skip
    lines = [line.removeprefix("groundup: ") for line in said.splitlines() if line.startswith("groundup: ")]
    wanted = [line for line in lines if "dependencies taken out of" in line] if code == 0 else lines[-1:]
    return {"repository": sample["repository"], "made": code == 0, "said": (wanted or [said.strip()[-300:]])[0]}


def run(out: Path, times: int) -> None:
    """Make all instances, then validate each within its time."""
    folder = out / "fresh"
    out.mkdir(parents=True, exist_ok=True)
    known = {one["repository"] for one in _lines(out / "made.jsonl")}
    for sample in read_samples():
        if sample["repository"] not in known:
            _keep(out / "made.jsonl", make(sample, folder))
    print(groundup("data", "pull", "dibench@fresh", "--from", str(folder))[1].strip())
    done = {one["repository"] for one in _lines(out / "validated.jsonl")}
    for one in _lines(out / "made.jsonl"):
        if one["made"] and one["repository"] not in done:
            _keep(out / "validated.jsonl", validate(one["repository"], times))


def validate(repository: str, times: int) -> dict[str, Any]:
    """Validate one instance; return how it stands."""
    task = repository.replace("/", "_")
    _, said = groundup(
        "curate", "validate", "dibench@fresh", "--tasks", task, "-k", str(times), "--json", timeout_s=VALIDATING_S
    )
    found = re.search(r"^\{.*^\}", said, re.DOTALL | re.MULTILINE)
    told = json.loads(found[0])["tasks"][0] if found else {"standing": "not measured", "why": said.strip()[-200:]}
    return {"repository": repository, "standing": told["standing"], "why": told["why"], "times": times}


def table(out: Path) -> Iterator[str]:
    """Yield the table: counts, then a line for each repository that did not become a valid instance."""
    made = {one["repository"]: one for one in _lines(out / "made.jsonl")}
    validated = {one["repository"]: one for one in _lines(out / "validated.jsonl")}
    rows = []
    counts = {language: [0, 0, 0, 0] for language in PREFIXES}
    for sample in read_samples():
        name = sample["repository"]
        one = validated.get(name, {"standing": "not made", "why": made[name]["said"]})
        if made[name]["made"] and name not in validated:
            one = {"standing": "not measured", "why": ""}
        numbers = counts[sample["language"]]
        for at, counted in enumerate((
            True, not sample.get("outside"), one["standing"] != "not measured", one["standing"] == "valid",
        )):  # fmt: skip
            numbers[at] += counted and (at == 0 or not sample.get("outside"))
        if one["standing"] not in ("valid", "not measured"):
            told = _ADDRESS.sub("<address>", one["why"]).replace("|", "\\|").replace(name.replace("/", "_"), "it")
            agrees = {"True": "yes", "False": "**no**"}.get(str(sample.get("agrees")), "?")
            rows.append(f"| {name} | {one['standing']} | {sample.get('cause', '?')} | {told[:200]} | {agrees} |")
    yield "| language | drawn | test job and run-time dependencies | of these measured | valid |"
    yield "|---|---:|---:|---:|---:|"
    every = [sum(column) for column in zip(*counts.values(), strict=True)]
    for language, numbers in [*counts.items(), ("all", every)]:
        yield f"| {language} | {' | '.join(map(str, numbers))} |"
    yield ""
    yield "| repository | standing | true cause, found by hand | printed cause | agree |"
    yield "|---|---|---|---|---|"
    yield from rows


def _keep(path: Path, record: Mapping[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("draw", "run", "table"))
    parser.add_argument("available", nargs="?", type=Path)
    parser.add_argument("--seed", type=int, default=20261125)
    parser.add_argument("--out", type=Path, default=Path("fresh-yield"))
    parser.add_argument("-k", "--times", type=int, default=3)
    asked = parser.parse_args(arguments)
    if asked.what == "draw":
        for language, repository in drawn(asked.available.read_text(encoding="utf-8"), asked.seed):
            print(language, repository)
    elif asked.what == "run":
        os.environ.setdefault("GROUNDUP_CI_TIMEOUT_S", "600")
        run(asked.out, asked.times)
    else:
        print("\n".join(table(asked.out)))


if __name__ == "__main__":
    main()
