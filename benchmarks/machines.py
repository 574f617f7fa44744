"""Keeps the table of machines in docs/guide-offline.md: what README's two commands came to, and at which commit.

.ci/fresh-machine --record     calls this with what it measured
python benchmarks/machines.py  writes the table of the page anew from docs/data/machines.tsv

Needs nothing but Python, for it also runs where groundup is not installed.
"""

import csv
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "data" / "machines.tsv"
PAGE = ROOT / "docs" / "guide-offline.md"
COLUMNS = ("machine", "python", "as", "version", "commit", "demo", "tests")
_BEGIN, _END = "<!-- machines: .ci/fresh-machine --record -->\n\n", "<!-- end of machines -->"
_CLOSING = re.compile(r"=+ .*\bin [\d.]+s")
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?)")


def rows() -> list[dict[str, str]]:
    """Return what is on record, a row for each machine and user."""
    with DATA.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def table(records: list[dict[str, str]]) -> str:
    """Return the rows in Markdown."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(record[column] for column in COLUMNS) + " |" for record in records]
    return "\n".join(lines) + "\n"


def version() -> str:
    """Return the version that this checkout would release."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def result(command: str, seconds: str, megabytes: str, output: str) -> dict[str, str]:
    """Return the cell of a command: time by the clock and size, for the tests also their closing counts."""
    if command == "make demo":
        return {"demo": f"{seconds} s, {megabytes} MB"}
    # make has the last word where tests fail.
    closing = next((line for line in reversed(output.splitlines()) if _CLOSING.match(line)), "")
    counts = ", ".join(f"{count} {what}" for count, what in _COUNT.findall(closing))
    return {"tests": f"{counts or 'did not end'}, {int(seconds) // 60} min {int(seconds) % 60} s"}


def record(machine: str, python: str, user: str, found: dict[str, str]) -> None:
    """Set the cells *found* in the row of this machine and user."""
    known = rows()
    key = {"machine": machine, "python": python, "as": user}
    row = next((one for one in known if key.items() <= one.items()), None)
    if row is None:
        row = dict.fromkeys(COLUMNS, "") | key
        known.append(row)
    commit = subprocess.check_output(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, text=True)
    row.update(found, version=version(), commit=commit.strip())
    with DATA.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(known)


if __name__ == "__main__":
    if sys.argv[1:]:
        system, user, command, seconds, megabytes, output = sys.argv[1:]
        machine, python = system.split("\t")
        text = Path(output).read_text(encoding="utf-8", errors="replace")
        record(machine, python, user, result(command, seconds, megabytes, text))
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    PAGE.write_text(before + _BEGIN + table(rows()) + "\n" + _END + rest.partition(_END)[2], encoding="utf-8")
