"""Which shared libraries a program of this machine needs, read from the file itself: nothing is run."""

import os
import platform
import struct
from collections.abc import Iterator
from pathlib import Path

_MAGIC = b"\x7fELF\x02"
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRINGS, _RPATH, _RUNPATH = 1, 5, 15, 29


class SharedLibraries:
    """Finds shared libraries as this machine's dynamic linker does."""

    def __init__(self) -> None:
        machine = platform.machine()
        places = (f"/lib/{machine}-linux-gnu", f"/usr/lib/{machine}-linux-gnu", "/lib64", "/usr/lib64", "/lib")
        self.folders = tuple(Path(place) for place in (*places, "/usr/lib") if Path(place).is_dir())

    def matching(self, pattern: str) -> Iterator[Path]:
        """Yield the libraries by a pattern of their file names, each name once."""
        seen = set()
        for folder in self.folders:
            for path in sorted(folder.glob(pattern)):
                if path.name not in seen and is_elf(path):
                    seen.add(path.name)
                    yield path

    def closure(self, files: "list[Path]") -> set[Path]:
        """Return all libraries that *files* need, and the dynamic linker."""
        found: set[Path] = set()
        waiting = list(files)
        while waiting:
            file = waiting.pop()
            for path in self._needed_by(file):
                if path not in found:
                    found.add(path)
                    waiting.append(path)
        return found

    def _needed_by(self, file: Path) -> Iterator[Path]:
        names, places, interpreter = read_dynamic(file)
        if interpreter is not None:
            yield interpreter
        own = [Path(place.replace("$ORIGIN", str(file.resolve().parent))) for place in places]
        for name in names:
            candidates = (folder / name for folder in (*own, *self.folders))
            path = next((path for path in candidates if is_elf(path)), None)
            if path is not None:
                yield path


def is_elf(path: Path) -> bool:
    """Whether it is a program or library for 64 bits."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def read_dynamic(path: Path) -> tuple[list[str], list[str], Path | None]:
    """Return names of needed libraries, folders where they are looked for first, and the dynamic linker."""
    try:
        data = path.read_bytes()
    except OSError:
        return [], [], None
    if not data.startswith(_MAGIC):
        return [], [], None
    order = "<" if data[5] == 1 else ">"
    (start,) = struct.unpack_from(f"{order}Q", data, 32)
    size, count = struct.unpack_from(f"{order}HH", data, 54)
    segments = [struct.unpack_from(f"{order}IIQQQQ", data, start + number * size) for number in range(count)]
    loads = [(address, offset, length) for kind, _, offset, address, _, length in segments if kind == _LOAD]
    entries: list[tuple[int, int]] = []
    interpreter = None
    for kind, _, offset, _, _, length in segments:
        if kind == _INTERPRETER:
            interpreter = Path(os.fsdecode(data[offset : offset + length].rstrip(b"\0")))
        if kind == _DYNAMIC:
            entries = list(struct.iter_unpack(f"{order}qQ", data[offset : offset + length // 16 * 16]))
    tags = dict(entries)
    table = next(
        (tags[_STRINGS] - at + place for at, place, length in loads if at <= tags.get(_STRINGS, -1) < at + length),
        0,
    )

    def text(at: int) -> str:
        return os.fsdecode(data[table + at : data.index(b"\0", table + at)])

    names = [text(value) for tag, value in entries if tag == _NEEDED]
    places = [place for tag, value in entries if tag in (_RPATH, _RUNPATH) for place in text(value).split(":")]
    return names, [place for place in places if place], interpreter
