"""A folder of instances that are being made: where each lies, and that nothing in it is lost.

Each instance is a line of the JSONL file and a masked repository. Both are noted as groundup's when they are
written, so that an edited one is never replaced. Lines of others stay as they are, byte for byte.
"""

import shutil
from pathlib import Path

from groundup.domain.digests import digest_of
from groundup.domain.errors import UsageError
from groundup.domain.names import checked_name
from groundup.manifests.records import Language
from groundup.store.files import write_atomically
from groundup.store.ownership import note_made, refuse_others, was_noted
from groundup.suites.dibench.dataset import Instance, as_lines, read_instances
from groundup.suites.sets import VALIDITY
from groundup.trees.digest import tree_digest

ADVICE = "give this one another --name, or choose another folder with --to"


class InstanceFolder:
    """The folder, which may be absent yet."""

    def __init__(self, folder: Path, subset: str | None = None) -> None:
        """Raises `UsageError` for a folder whose name cannot be that of a subset, where none is named."""
        self.subset = subset or checked_name(folder.resolve().name)
        self.lines = folder / f"{self.subset}.jsonl"
        self.validity = folder / VALIDITY
        if self.lines == self.validity:
            raise UsageError(f"{VALIDITY} says how executions ended; choose a folder of another name")
        self._repositories = folder / self.subset

    def earlier(self, language: Language, name: str) -> Instance | None:
        """Return the instance that is there by that name. Raises `UsageError` for a repository without one."""
        known = read_instances(self.lines) if self.lines.exists() else ()
        found = next((one for one in known if (one.language, one.instance_id) == (language, name)), None)
        place = self._repositories / language / checked_name(name)
        if found is None and place.exists():
            raise UsageError(f"{place} is there and belongs to no instance; {ADVICE}")
        return found

    def refuse_edited(self, instance: Instance) -> None:
        """Raise `UsageError` where line or repository of *instance* are not as they were made."""
        refuse_others(self.place(instance), ADVICE)
        if not was_noted(self._noted_line(instance), digest_of(instance)):
            raise UsageError(f"the line of {instance.instance_id} in {self.lines} was edited; {ADVICE}")

    def put(self, instance: Instance, masked: Path, work: Path) -> None:
        """Move the repository *masked* here and write its line; an earlier repository goes to *work*."""
        place = self.place(instance)
        if place.exists():
            shutil.move(place, work / "replaced")
        place.parent.mkdir(parents=True, exist_ok=True)
        note_made(place, tree_digest(masked).digest)
        shutil.move(masked, place)
        note_made(self._noted_line(instance), digest_of(instance))
        self._write(instance)

    def place(self, instance: Instance) -> Path:
        """Return where the masked repository of *instance* lies."""
        return self._repositories / instance.language / instance.instance_id

    def _noted_line(self, instance: Instance) -> Path:
        """Return what stands for the line in the notes of what was made."""
        return self.lines.with_name(f"{self.lines.name} {instance.language} {instance.instance_id}")

    def _write(self, instance: Instance) -> None:
        """Put the line into the file, sorted by language and id."""
        lines: dict[tuple[str, str], bytes] = {}
        if self.lines.exists():
            texts = [line + b"\n" for line in self.lines.read_bytes().split(b"\n") if line.strip()]
            known = zip(read_instances(self.lines), texts, strict=True)
            lines = {(one.language, one.instance_id): text for one, text in known}
        lines[instance.language, instance.instance_id] = as_lines([instance])
        write_atomically(self.lines, b"".join(lines[key] for key in sorted(lines)))
