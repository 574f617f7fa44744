"""The pages of which the documentation has pictures, and their words, which say when a picture is old."""

import json
import re
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from urllib.request import urlopen

from groundup.domain.subjects import AttemptKey, Outcome
from groundup.domain.verdicts import TestResult, Verdict
from groundup.store.folder import RunWriter
from groundup.store.records import ConfigFile, Planned, Predictions, RunConfiguration, VerdictLine

WORDS = Path(__file__).with_name("pictures.txt")
PICTURES = {
    "view-run": ("/run/model-a", "dark", 900),
    "view-why": ("/run/model-a/attempt/sqlparse/0", "light", 690),
    "view-compare": ("/compare?run=model-a&run=model-b", "light", 1080),
}
"""Each picture's page, colour scheme and height."""
_RECORDED = Path(__file__).with_name("pictured.json")
"""What `groundup evaluate nl2repobench` found of six originals, four or one of them with a planted fault.

By run and task: the verdict and its lost tests, without their source.
"""
_BEGAN = datetime(2026, 11, 30, 9, tzinfo=UTC)


def write_runs(folder: Path) -> Path:
    """Write the runs of the pictures, model-a and model-b, and return *folder*."""
    for name, tasks in json.loads(_RECORDED.read_text(encoding="utf-8")).items():
        given = Predictions(path=f"predictions/{name}", model_name=f"example/{name}")
        configuration = RunConfiguration(suite="nl2repobench", submissions=given)
        planned = Planned(tasks=tuple(tasks), attempts=1)
        pinned = {"suite": "nl2repobench 1"}
        config = ConfigFile(
            run_id=name,
            created_at=_BEGAN,
            suite_name="nl2repobench",
            grader="strict",
            configuration=configuration,
            planned=planned,
            pinned=pinned,
            digest=ConfigFile.digest_for(configuration, planned, pinned),
        )
        with RunWriter.create(folder / name, config) as writer:
            for task, found in tasks.items():
                line = VerdictLine(
                    attempt=AttemptKey(task=task, index=0),
                    outcome=Outcome.SUBMITTED,
                    submission=f"{name}-{task}",
                    verdict=Verdict.model_validate(found["verdict"]),
                    started_at=_BEGAN,
                    finished_at=_BEGAN + timedelta(seconds=4),
                )
                writer.record(line, [TestResult(**test) for test in found["lost"]], {})
    return folder


def pictured_words(place: str) -> str:
    """Return the words of the pictured pages that the viewer at *place* serves, a line of a page each."""
    pages = []
    for name, (address, _, _) in PICTURES.items():
        with urlopen(place + address) as reply:
            html = reply.read().decode()
        main = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>", "", html[html.index("<main") : html.index("</main>")])
        lines = [" ".join(unescape(re.sub(r"<[^>]+>", " ", part)).split()) for part in main.split("\n")]
        pages.append("\n".join([f"== {name}.png", *filter(None, lines)]))
    return "\n\n".join(pages) + "\n"
