"""Pages in HTML: the one engine behind reports, the viewer and other packages' pages, and its common templates.

A page that is one file needs no network, opens from a mail, and runs no script but its own: a policy in the file
keeps browsers from running or loading anything else. What strangers wrote is escaped everywhere.
"""

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from groundup.domain.figures import minute, percent
from groundup.domain.names import printable
from groundup.domain.version import __version__
from groundup.reports.document import Report
from groundup.reports.numbers import between
from groundup.reports.plots import NARROW, PALETTE, plots_of
from groundup.reports.views import View, origin

_HOME = "groundup.reports"


def templates(package: str = _HOME) -> Environment:
    """Return the templates of *package*, which may extend and import those of reports."""
    loaders = [PackageLoader(name) for name in dict.fromkeys((package, _HOME))]
    made = Environment(loader=ChoiceLoader(loaders), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.filters.update(percent=percent, printable=printable, minute=minute)
    made.globals.update(between=between, version=__version__, narrow=NARROW)
    return made


def style() -> str:
    """Return the rules that all pages share."""
    light, dark = (
        "".join(f"--{name}:{colours[scheme]};" for name, colours in PALETTE.items()) for scheme in (0, 1)
    )
    # Pygments has classes of these names as well.
    bars = "".join(f":is(.key,.bars) .{name}{{background:var(--{name})}}" for name in PALETTE)
    palette = f":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{bars}\n"
    return _text(_HOME, "page.css") + palette


def one_file(template: str, script: str, package: str = _HOME, **values: Any) -> str:
    """Return a page that is one file: *template* of *package*, which extends `file.html`, with its *script*."""
    source = _text(package, script)
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    # These are ours, and no templates: nothing in them is escaped or replaced.
    ours = {"policy": Markup(policy), "style": Markup(style()), "script": Markup(source)}  # noqa: S704
    return templates(package).get_template(template).render(**ours, **values)


def _text(package: str, name: str) -> str:
    return (files(package) / "templates" / name).read_text(encoding="utf-8")


def page(report: Report, views: Iterable[View]) -> str:
    """Return *report* as an HTML document; *views* are its tables."""
    title = ", ".join(run.run_id for run in report.runs[:4]) + (" and more" if len(report.runs) > 4 else "")
    said = [f"{run.run_id}: {'; '.join(origin(run))}; begun {minute(run.created_at)}" for run in report.runs]
    tables = [view for view in views if view.columns or view.below]
    return one_file(
        "report.html", "report.js", title=title, said=said, runs=report.runs, plots=plots_of(report), tables=tables
    )


def tables(views: Iterable[View]) -> str:
    """Return *views* as HTML without scripts or links, for a notebook."""
    return templates().get_template("notebook.html").render(views=views)
