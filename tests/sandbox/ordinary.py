"""Running a program as an ordinary user, when the tests themselves run as root.

Interpreter and checkout may lie where such a user cannot go (a 0700 home). So the program gets a mount namespace
in which the closed folders on the way are replaced by open ones that hold nothing but what is needed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from groundup.sandbox.launcher import kernel

UID = 61_234
ROOT = Path(__file__).parents[2]


def run_as_ordinary(
    argv: list[str], environment: dict[str, str], timeout_s: float
) -> subprocess.CompletedProcess[bytes]:
    """Run *argv* as `UID` with a fresh home and temporary folder, which are removed."""
    home = Path(tempfile.mkdtemp(prefix="ordinary-", dir="/tmp"))
    os.chown(home, UID, UID)
    variables = {"HOME": str(home), "TMPDIR": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **environment}
    variables["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")  # the sources that the tests have
    try:
        return subprocess.run(
            [sys.executable, "-m", "tests.sandbox.ordinary", *argv],
            cwd=ROOT,
            env=variables | {"PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    finally:
        shutil.rmtree(home, ignore_errors=True)


def become_ordinary() -> None:
    """Open the way to interpreter and checkout, leave all control groups alone, and become `UID`."""
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_SLAVE)
    needed = [Path(sys.base_prefix), Path(sys.prefix), ROOT]
    closed: dict[Path, list[Path]] = {}
    for path in needed:
        for ancestor in reversed(path.parents):
            if not ancestor.stat().st_mode & 0o001:
                closed.setdefault(ancestor, []).append(path)
                break
    for ancestor, paths in closed.items():
        descriptors = [os.open(path, os.O_PATH) for path in paths]
        kernel.mount("tmpfs", str(ancestor), "tmpfs", 0, "mode=755")
        for path, descriptor in zip(paths, descriptors, strict=True):
            path.mkdir(parents=True, exist_ok=True)  # the interpreter may lie in the checkout
            kernel.mount(f"/proc/self/fd/{descriptor}", str(path), "", kernel.MS_BIND | kernel.MS_REC)
            os.close(descriptor)
    os.setgroups([])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)
    kernel.be_dumpable()
    os.chdir(ROOT)


if __name__ == "__main__":
    become_ordinary()
    os.execv(sys.argv[1], sys.argv[1:])
