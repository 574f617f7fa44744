"""The pages of which the documentation has pictures, and their words, which say when a picture is old."""

import re
from html import unescape
from pathlib import Path
from urllib.request import urlopen

from tests.reports.made import Word
from tests.viewer.made import write_run

WORDS = Path(__file__).with_name("pictures.txt")
PICTURES = {
    "view-run": ("/run/model-a", "dark", 900),
    "view-why": ("/run/model-a/attempt/sqlparse/0", "light", 560),
    "view-compare": ("/compare?run=model-a&run=model-b", "light", 1080),
}
"""Each picture's page, colour scheme and height."""
_MADE: dict[str, list[Word]] = {
    "aiofiles": [(161, 204)],
    "humanize": [(604, 604)],
    "markupsafe": [(71, 71)],
    "retrying": [(12, 17)],
    "sqlparse": [(442, 461)],
    "tqdm": [(0, 139)],
}


def write_runs(folder: Path) -> Path:
    """Write the runs of the pictures, model-a and model-b, and return *folder*."""
    write_run(folder, "model-a", _MADE, said="psql_quotation_marks")
    better: dict[str, list[Word]] = {**_MADE, "sqlparse": [(461, 461)], "tqdm": [(137, 139)]}
    write_run(folder, "model-b", better, said="psql_quotation_marks")
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
