"""The files that a reply hands over, as far as they are read, and what of it cannot be taken."""

import re

from groundup.agents.answers import plain_path
from groundup.agents.patches import Read, UnfitPatchError, patched, replaced


class FoundFiles:
    """Files under plain paths, and what was not taken."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self.files: dict[str, bytes] = {}
        self.problems: list[str] = []
        self.outside = False
        self.unfit = False
        """Whether a patch does not apply."""

    def add(self, path: str, content: str) -> None:
        """Take a file."""
        name = plain_path(path)
        if name is None:
            self.outside = True
            self.problems.append(f"{path[:200]!r} is no path inside the workspace")
        else:
            end = "" if content.endswith("\n") or not content else "\n"
            self.files[name] = f"{content}{end}".encode(errors="replace")

    def add_more(self, path: str, content: str) -> None:
        """Take a file, unless there is one of which the reply says more clearly that it is this one."""
        if plain_path(path) not in self.files:
            self.add(path, content)

    def change(self, path: str, before: str, after: str) -> None:
        """Put *after* in the place of *before*, in the file as it is by now."""
        try:
            self.add(path, replaced(path, self._now(plain_path(path) or ""), before, after))
        except UnfitPatchError as error:
            self.unfit = True
            self.problems.append(str(error))

    def apply(self, text: str, path: str = "") -> None:
        """Apply the patches of *text*, which may be the one of *path* that names no file itself."""
        try:
            changed = patched(f"{path}\n{text}" if path else text, self._now)
        except UnfitPatchError as error:
            self.unfit = True
            self.problems.append(str(error))
            return
        for name, content in changed.items():
            self.add(name, content)

    def _now(self, path: str) -> bytes | None:
        return self.files.get(path) or self._read(path)


def looks_like_file(text: str) -> bool:
    """Whether *text* could be the path of a file: it has an ending, a folder or a known name."""
    return re.fullmatch(r"[\w./@+-]*(\.\w{1,12}|/[\w.-]+|Dockerfile|Makefile|LICENSE)", text) is not None
