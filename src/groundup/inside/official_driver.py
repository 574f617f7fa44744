"""What the published container does after its start, as one program of the sandbox that stands for the container.

Started as `python -I official_driver.py` with its settings as JSON on standard input. Starts the service, waits
for it and runs pytest, all on its own standard output and error, between the published markers. The service can
write the same markers there, which is one of the published faults.
"""

import http.client
import json
import os
import signal
import socket
import subprocess  # noqa: TID251 - runs inside a sandbox, as the published entry point does
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from groundup.inside.stopwatch import Stopwatch, inside

SCRIPTS = ("./start.sh", "./scripts/start.sh", "./bin/start.sh")
PROGRAMS = ("app.py", "main.py", "run.py", "manage.py", "server.py")
GUESSES = ("main:app", "app:app", "server:app", "api:app")
HEALTH = ("/", "/health", "/api/health", "/api/v1/health", "/actuator/health")


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def script() -> str | None:
    """Return the start script that would be found."""
    for name in SCRIPTS:
        if Path(name).is_file():
            return name
    for folder, folders, names in os.walk("."):
        if folder.count("/") >= 2:  # the third level is the last
            folders.clear()
        path = Path(folder, "start.sh")
        if "start.sh" in names and path.is_file():  # the published copy makes files of links
            return f"{folder}/start.sh"
    return None


def command(port: int) -> list[str] | None:
    """Return how the service is started."""
    found = script()
    if found is not None:
        say(f"Starting service via: {found}")
        return ["bash", found]
    for name in PROGRAMS:
        if Path(name).is_file():
            more = ["runserver", f"0.0.0.0:{port}"] if name == "manage.py" else []
            say(f"Starting service via: {' '.join(['python', name, *more])}")
            return ["python", name, *more]
    for guess in GUESSES:
        module = guess.partition(":")[0]
        tried = subprocess.run(["python", "-c", f"import {module}"], stderr=subprocess.DEVNULL, check=False)
        if tried.returncode == 0:
            say(f"Starting service via: uvicorn {guess}")
            return ["python", "-m", "uvicorn", guess, "--host", "0.0.0.0", "--port", str(port)]  # noqa: S104
    say("WARNING: No Python entry point found")
    return None


def java_command() -> "list[str] | None":
    """Return how a service in Java is started."""
    found = script()
    if found is not None:
        say(f"Starting service via: {found}")
        return ["bash", found]
    if Path("pom.xml").is_file():
        say("Starting service via: mvn spring-boot:run")
        return ["mvn", "spring-boot:run", "-q"]
    say("WARNING: No Java entry point found")
    return None


def answers(port: int, path: str) -> bool:
    """Whether GET *path* answers with less than 400. Waits for ever, as the published question does."""
    try:
        connection = http.client.HTTPConnection("localhost", port)
        connection.request("GET", path, headers={"User-Agent": "curl/7.88.1", "Accept": "*/*"})
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException, ValueError):
        return False
    else:
        return answer.status < 400
    finally:
        connection.close()


def is_open(port: int) -> bool:
    """Whether somebody listens on *port*."""
    try:
        socket.create_connection(("localhost", port)).close()
    except OSError:
        return False
    return True


def owed_by(address: str) -> "Callable[[], float]":
    """Return what asks at *address* how long packages were owed so far; such time is not the service's."""
    (place, _, path), known = address.partition("/"), [0.0]

    def asked() -> float:
        try:
            connection = http.client.HTTPConnection(place, timeout=1)
            with closing(connection):
                connection.request("GET", f"/{path}")
                known[0] = float(connection.getresponse().read(100))
        except (OSError, ValueError, http.client.HTTPException):
            pass
        return known[0]

    return asked if address else lambda: 0.0


def is_ready(service: "subprocess.Popen[bytes]", port: int, seconds: int, owed_at: str) -> bool:
    """Wait as the published entry point waits; a process that merely lives is ready in the end."""
    say(f"Waiting for service on port {port} (timeout: {seconds}s)...")
    clock = inside(owed_by(owed_at))
    for second in range(1, seconds + 1):
        code = service.poll()
        if code is not None:
            say(f"Process exited with code {code} after {second}s")
            return False
        path = next((path for path in HEALTH if answers(port, path)), None)
        if path is not None:
            say(f"Service ready after {second}s (responded on {path})")
            return True
        if is_open(port):
            say(f"Port {port} is open after {second}s")
            return True
        clock.sleep_until(clock.passed_s() + 1)
    return service.poll() is None


def deploy(settings: dict[str, int], language: str, owed_at: str) -> None:
    """Start the service and say between markers whether it is deployed."""
    say(">>>>> DSR_START")
    argv = java_command() if language == "java" else command(settings["port"])
    success, message = False, "No service entry point found"
    if argv is not None:
        service = subprocess.Popen(argv)
        success = is_ready(service, settings["port"], settings["ready_s"], owed_at)
        message = (
            "Service started successfully" if success else f"Service failed to start within {settings['ready_s']}s"
        )
    say(f"DSR_RESULT={'true' if success else 'false'}")
    say(f"DSR_MESSAGE={message}")
    say(">>>>> DSR_END")


def run_timed(argv: "list[str]", clock: Stopwatch, seconds: float) -> None:
    """Run a command as `timeout` does: when its time is over, its group of processes is asked to end."""
    try:
        process = subprocess.Popen(argv, stderr=subprocess.STDOUT, preexec_fn=os.setpgrp)  # noqa: PLW1509
    except OSError as error:
        say(f"timeout: failed to run command: {error}")
        return
    while process.poll() is None and clock.left_s(seconds) > 0:
        try:
            process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            continue
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        os.killpg(process.pid, signal.SIGCONT)
    process.wait()


def test(settings: dict[str, int], language: str) -> None:
    """Run pytest or Maven between markers; the exit code is always given as 0."""
    say(">>>>> TEST_START")
    if language == "java":
        say("Running Maven tests...")
        argv = ["mvn", "test"]
    else:
        say("Running pytest...")
        argv = ["python", "-m", "pytest", "tests/", "-v", "--tb=short"]
        argv += ["--json-report", "--json-report-file=/tmp/pytest_report.json"]
    run_timed(argv, inside(), settings["tests_s"])
    say("TEST_EXIT_CODE=0")
    say(">>>>> TEST_END")
    say("Evaluation complete. Test exit code: 0")


def main() -> None:
    """Deploy, then test."""
    settings = json.load(sys.stdin)
    sys.stdin.close()
    language = settings.pop("language")
    deploy(settings, language, settings.pop("owed_at", ""))
    test(settings, language)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
