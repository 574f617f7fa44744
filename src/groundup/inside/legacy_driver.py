"""What the scripts before the harness do with one repository, as one program of a sandbox.

Started as `python -I legacy_driver.py` with settings as JSON on standard input; the last line of its standard
output is the outcome as JSON. Either starts the service and looks for some seconds whether it lives, or starts it,
waits, puts the hidden tests into the repository and runs pytest with coverage, or Maven. As in the scripts, nobody
reads what the service prints while it runs, so one that prints much comes to a halt; but where tests are in Java.
"""

import json
import os
import pty
import select
import shutil
import signal
import subprocess  # noqa: TID251 - runs inside a sandbox, as the scripts do
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from groundup.inside.stopwatch import Stopwatch, inside

KEPT = 4_000_000
LARGEST = 10**9
PAUSED = b"Press [r] to resume"
"""What Quarkus asks when it has tested on a terminal; the scripts answer."""


def install(argv: "list[str]", folder: str, allowed_s: float) -> "dict[str, Any] | None":
    """Install what lies in a folder; return how that failed."""
    process = subprocess.Popen(argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    printed = heard(process, inside(), allowed_s)
    if printed is None:
        return {"install": "timeout"}
    return {"install": "failed", "output": printed[-KEPT:]} if process.returncode else None


def heard(process: "subprocess.Popen[bytes]", clock: Stopwatch, allowed_s: float) -> "str | None":
    """Return all that a process prints; None when it is ended because its time is over."""
    while (left_s := clock.left_s(allowed_s)) > 0:
        try:
            output, errors = process.communicate(timeout=min(left_s, 0.5))
        except subprocess.TimeoutExpired:
            continue
        return (output + errors).decode(errors="replace")
    process.kill()
    process.communicate()
    return None


def start(script: str, pipe: int = subprocess.PIPE) -> "subprocess.Popen[str]":
    """Start the service in its script's folder, as a group of processes."""
    path = Path(script)
    return subprocess.Popen(
        ["bash", path.name],
        cwd=path.parent,
        stdin=None if pipe == subprocess.PIPE else pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def deploy(settings: dict[str, Any]) -> dict[str, Any]:
    """Start the service and look every second whether it lives."""
    if settings["install"]:
        argv = settings.get("installer") or [sys.executable, "-m", "pip", "install", "-q", "."]
        failed = install(argv, settings["install"], settings["install_s"])
        if failed:
            return failed
    if not settings["script"]:
        return {}
    service = start(settings["script"])
    clock = inside()
    for second in range(settings["alive_s"]):
        clock.sleep_until(second + 1)
        if service.poll() is not None:
            try:
                printed = "".join(service.communicate(timeout=settings["hanging_s"]))
            except subprocess.TimeoutExpired:
                return {"hanging": True}
            return {"exit_code": service.returncode, "output": printed[-KEPT:]}
    return {"exit_code": None, "output": ""}


def test(settings: dict[str, Any]) -> dict[str, Any]:
    """Start the service, wait, put the tests in place, run them with coverage."""
    service = start(settings["script"]) if settings["script"] else None
    if service is not None:
        inside().sleep_until(settings["wait_s"])
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
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    printed = heard(process, inside(), settings["tests_s"])
    return "TIMEOUT" if printed is None else printed[-KEPT:]


def test_java(settings: dict[str, Any]) -> dict[str, Any]:
    """Start the service, wait, lay the tests over the repository's own, raise Java 11 to 17, run the tests."""
    service = start(settings["script"], subprocess.DEVNULL) if settings["script"] else None
    if service is not None:
        inside().sleep_until(settings["wait_s"])
    repository = Path(settings["repository"])
    lay_java_tests(repository, Path(settings["tests"]))
    raise_java(repository / "pom.xml")
    argv, folder = java_tests(repository)
    output, late = on_terminal(argv, folder, settings["tests_s"])
    if service is not None:
        end(service)
    return {"output": output, "late": late, "reports": surefire(repository)}


def lay_java_tests(repository: Path, tests: Path) -> None:
    """Do as `cp -R src/test` into the repository's `src`; the repository's own tests stay.

    Without `src`, the tests become it. A folder `tests` is copied to `src/test/java` where nothing else is there.
    """
    source, usual = repository / "src", repository / "src/test/java"
    merge(tests, source / "test" if source.is_dir() else source)
    if not usual.exists() and (repository / "tests").is_dir():
        merge(repository / "tests", usual)


def merge(source: Path, destination: Path) -> None:
    """Copy a folder over another; what cannot be copied is left out, as `cp` does."""
    try:
        shutil.copytree(source, destination, symlinks=True, dirs_exist_ok=True)
    except OSError:
        return


def raise_java(pom: Path) -> None:
    """Have a project for Java 11 compiled for Java 17, where its build file says so in the usual words."""
    if not pom.is_file():
        return
    text = pom.read_bytes()
    for name in (b"maven.compiler.source", b"maven.compiler.target", b"source", b"target"):
        text = text.replace(b"<%b>11</%b>" % (name, name), b"<%b>17</%b>" % (name, name))
    pom.write_bytes(text)


def java_tests(repository: Path) -> "tuple[list[str], Path]":
    """Return what runs the tests, and where: the repository's own script, its own Maven, or Maven."""
    script = shallowest(repository, "run_tests.sh")
    if script is not None:
        return ["bash", str(script)], script.parent
    wrapper = shallowest(repository, "mvnw")
    if wrapper is not None:
        return [str(wrapper), "clean", "test"], wrapper.parent
    return ["mvn", "clean", "test"], repository


def shallowest(tree: Path, name: str) -> "Path | None":
    """Return the file of this name that is nearest to the root."""
    found = (path for path in tree.rglob(name) if path.is_file())
    return min(found, key=lambda path: (len(path.parts), str(path)), default=None)


def on_terminal(argv: "list[str]", folder: Path, allowed_s: float) -> "tuple[str, bool]":
    """Run a command on a terminal; return its output and whether it was late. A question restarts the clock."""
    ours, theirs = pty.openpty()
    try:
        child: subprocess.Popen[str] = subprocess.Popen(
            argv, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, text=True, start_new_session=True
        )
    except OSError as error:
        os.close(ours)
        return str(error), False
    finally:
        os.close(theirs)
    heard, unanswered, late = bytearray(), bytearray(), False
    clock = inside()
    while data := read_terminal(ours, clock, allowed_s):
        heard = (heard + data)[-KEPT:]
        unanswered += data
        if PAUSED in unanswered:
            os.write(ours, b"r\n")
            unanswered.clear()
            clock = inside()
        del unanswered[: -len(PAUSED)]
    if data is None:
        heard, late = heard + b"\nTIMEOUT", True
    end(child)
    os.close(ours)
    return heard.decode(errors="replace"), late


def read_terminal(terminal: int, clock: Stopwatch, allowed_s: float) -> "bytes | None":
    """Return what was printed next; nothing when no process has the terminal any more, None when late."""
    while not select.select([terminal], [], [], 0.5 if clock.left_s(allowed_s) > 0.5 else 0.05)[0]:
        if clock.left_s(allowed_s) <= 0:
            return None
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def surefire(repository: Path) -> "list[list[int]] | None":
    """Return tests, failures, errors and skips of each of Surefire's reports that parses; None without any."""
    found = [
        path
        for path in sorted(repository.rglob("TEST-*.xml"))
        if path.is_file() and "target" in str(path.parent) and "surefire-reports" in str(path.parent)
    ]
    reports = []
    for path in found:
        try:
            suite = ET.parse(path).getroot().attrib  # noqa: S314 - nothing else is in this sandbox
            numbers = [int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")]
        except (OSError, ValueError, ET.ParseError):
            continue
        if all(0 <= number < LARGEST for number in numbers):
            reports.append(numbers)
    return reports if found else None


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
    phases = {"deployment": deploy, "tests": test, "java tests": test_java}
    outcome = phases[settings["phase"]](settings)
    sys.stdout.write("\n" + json.dumps(outcome) + "\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
