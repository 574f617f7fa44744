"""Bytecode of groundup's own programs for the interpreters of environments: compiled once, not at each start.

The host's interpreter makes it, which the environment shows to its sandboxes, and no guest may write where it is
kept. Nothing that a stranger wrote is compiled here.
"""

import contextlib
from functools import lru_cache
from pathlib import Path

from groundup.domain.digests import digest_bytes, digest_of, short
from groundup.domain.errors import InfrastructureError
from groundup.environments.requests import PYTHON_TARGET, PythonEnvironment
from groundup.sandbox.programs import run_program
from groundup.store.files import write_atomically
from groundup.trees.scratch import temporary_root

_COMPILE_S = 60.0
_COMPILE = """
import importlib.util, marshal, sys
code = compile(sys.stdin.buffer.read(), sys.argv[1], "exec", dont_inherit=True)
sys.stdout.buffer.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""


async def bytecode_for(environment: PythonEnvironment, source: bytes, place: str) -> bytes | None:
    """Return what the interpreter of *environment* makes of *source*, which is seen inside at *place*.

    None where that interpreter is not on this machine, or has no answer: a program starts by its source then.
    """
    minor = ".".join(environment.python_version.split(".")[:2])
    target = f"{PYTHON_TARGET}/bin/python{minor}"
    interpreter = next((mount.source for mount in environment.mounts if mount.target == target), None)
    if interpreter is None:
        return None
    with contextlib.suppress(OSError, InfrastructureError):
        status = interpreter.stat()
        stamp = [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
        asked = [str(interpreter), stamp, environment.python_version, place, digest_bytes(source), _COMPILE]
        kept = temporary_root() / "bytecode" / f"{short(digest_of(asked))}.pyc"
        if not kept.is_file():
            await _compile(interpreter, source, place, kept)
        return _read(kept)
    return None


@lru_cache(maxsize=16)
def _read(kept: Path) -> bytes:
    return kept.read_bytes()


async def _compile(interpreter: Path, source: bytes, place: str, kept: Path) -> None:
    """Write *kept*. Raises `InfrastructureError` when the interpreter fails."""
    argv: list[str | Path] = [interpreter, "-I", "-S", "-c", _COMPILE, place]
    made = await run_program(argv, cwd=Path("/"), environment={}, timeout_s=_COMPILE_S, stdin=source)
    if not made.ok:
        raise InfrastructureError(f"{interpreter} does not compile {place}: {made.text()[-200:]}")
    kept.parent.mkdir(mode=0o700, exist_ok=True)
    write_atomically(kept, made.stdout, durable=False)
