"""What the scripts before the harness do with one repository, as one program of a sandbox.

Started as `python -I legacy_driver.py` with settings as JSON on standard input; the last line of its standard
output is the outcome as JSON. Either starts the service and looks for some seconds whether it lives, or starts it,
waits, puts the hidden tests into the repository and runs pytest with coverage. As in the scripts, nobody reads
what the service prints while it runs, so one that prints much comes to a halt.
"""

import json
import os
import shutil
import signal
import subprocess  # noqa: TID251 - runs inside a sandbox, as the scripts do
import sys
import time
from pathlib import Path
from typing import Any

KEPT = 4_000_000


def install(folder: str, allowed_s: float) -> "str | None":
    """Install a package from its folder; return how that failed."""
    argv = [sys.executable, "-m", "pip", "install", "-q", "."]
    try:
        done = subprocess.run(argv, cwd=folder, capture_output=True, check=False, timeout=allowed_s)
    except subprocess.TimeoutExpired:
        return "timeout"
    return "failed" if done.returncode else None


def start(script: str) -> "subprocess.Popen[str]":
    """Start the service in its script's folder, as a group of processes."""
    path = Path(script)
    return subprocess.Popen(
        ["bash", path.name],
        cwd=path.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def deploy(settings: dict[str, Any]) -> dict[str, Any]:
    """Start the service and look every second whether it lives."""
    if settings["install"]:
        failed = install(settings["install"], settings["install_s"])
        if failed:
            return {"install": failed}
    service = start(settings["script"])
    for _ in range(settings["alive_s"]):
        time.sleep(1)
        if service.poll() is not None:
            try:
                told = "".join(service.communicate(timeout=settings["hanging_s"]))
            except subprocess.TimeoutExpired:
                return {"hanging": True}
            return {"exit_code": service.returncode, "output": told[-KEPT:]}
    return {"exit_code": None, "output": ""}


def test(settings: dict[str, Any]) -> dict[str, Any]:
    """Start the service, wait, put the tests in place, run them with coverage."""
    service = start(settings["script"]) if settings["script"] else None
    if service is not None:
        time.sleep(settings["wait_s"])
    tests = Path(settings["repository"], "tests")
    if tests.is_symlink() or tests.is_file():
        tests.unlink()
    elif tests.exists():
        shutil.rmtree(tests)
    shutil.copytree(settings["tests"], tests, symlinks=True)
    output = run_pytest(str(tests), settings)
    if service is not None:
        end(service)
    return {"output": output}


def run_pytest(tests: str, settings: dict[str, Any]) -> str:
    """Return what pytest printed, the end of it where it is long."""
    repository = settings["repository"]
    argv = [sys.executable, "-m", "pytest", tests, f"--cov={repository}", "--cov-report=term-missing"]
    try:
        done = subprocess.run(argv, capture_output=True, check=False, timeout=settings["tests_s"])
    except subprocess.TimeoutExpired:
        return "TIMEOUT"
    return (done.stdout + done.stderr).decode(errors="replace")[-KEPT:]


def end(service: "subprocess.Popen[str]") -> None:
    """End the service's group of processes."""
    try:
        os.killpg(service.pid, signal.SIGTERM)
        service.wait(timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        try:
            os.killpg(service.pid, signal.SIGKILL)
        except OSError:
            return


def main() -> None:
    """Do what the settings say."""
    settings = json.load(sys.stdin)
    sys.stdin.close()
    outcome = deploy(settings) if settings["phase"] == "deployment" else test(settings)
    sys.stdout.write("\n" + json.dumps(outcome) + "\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
