"""Commands below one name: each is built when it is asked for, and the help that lists them is plain text.

Building every command, and drawing the list with rich, would take longer than all else that `groundup --help`
does.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup


class Member(NamedTuple):
    """A command or a group of commands, before it is built."""

    about: str
    """What it does; the first paragraph is shown."""
    build: Callable[[], Any]

    @property
    def summary(self) -> str:
        """What the list of commands says of it."""
        return " ".join(inspect.cleandoc(self.about).split("\n\n")[0].split())


class CommandPanel(TyperGroup):
    """Commands, listed under the jobs that they do."""

    members: Mapping[str, Member]
    jobs: Mapping[str, tuple[str, ...]]

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # typer's own
        """Show the help where no command is given."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # typer's own
        """Return the names in the order of the help."""
        return [name for names in self.jobs.values() for name in names]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]  # typer's own
        """Return a command; a name that is unknown is answered with what is like it, so all are built for it."""
        for name in [cmd_name] if cmd_name in self.members else self.members:
            if name not in self.commands:
                self.commands[name] = self.members[name].build()
        return self.commands.get(cmd_name)

    def format_help(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # typer's own
        """Write the help as click does, without rich."""
        super(TyperGroup, self).format_help(ctx, formatter)

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # typer's own
        """Write a section for each job."""
        widest = max(map(len, self.members))
        for job, names in self.jobs.items():
            with formatter.section(job):
                formatter.write_dl([(name.ljust(widest), self.members[name].summary) for name in names])


def group(app: typer.Typer, members: Mapping[str, Member], jobs: Mapping[str, tuple[str, ...]]) -> CommandPanel:
    """Return *app* with *members*; its class must be `Group`."""
    made: Any = typer.main.get_command(app) if app.registered_callback else typer.main.get_group(app)
    made.members, made.jobs = members, jobs
    return made  # type: ignore[no-any-return]  # what typer makes of the class `Group`
