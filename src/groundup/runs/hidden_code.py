"""The text of hidden tests, for the owner of a run who asks why points were lost. Nothing of it is stored."""

import secrets
from pathlib import Path

from groundup.domain.errors import GroundupError
from groundup.episodes.backends import backends
from groundup.runs.leftovers import SHELLS
from groundup.runs.plan import make_plan
from groundup.settings import Settings
from groundup.store.folder import Hold, RunFolder
from groundup.suites.base import AtHand, ForCommands
from groundup.trees.walking import remove_tree


async def hidden_files(folder: Path, task: str, settings: Settings) -> dict[str, str]:
    """Return the text of the hidden tests of *task*, by path; nothing where they are not at hand."""
    run = RunFolder(folder)
    scratch = settings.cache_dir / SHELLS / secrets.token_hex(8)
    scratch.mkdir(parents=True)
    hold = Hold(scratch)
    try:
        configuration = run.config().configuration
        plan = make_plan(configuration, settings)
        async with backends(configuration.sandbox, settings, run.lock().images) as opened:
            known = plan.tasks[task]
            tools = await opened.of(known, AtHand.of(plan.suite).published_image(known))
            code = await ForCommands.of(plan.suite).auditor().hidden(known, tools.context(scratch, None))
    except (GroundupError, KeyError):  # such as data that is no longer here: the rest of what is known is printed
        return {}
    finally:
        hold.close()
        remove_tree(scratch)
    return {} if code is None else code.files
