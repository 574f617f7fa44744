"""Tests of groundup.suites.repogenesis.driving: programs that run where groundup is not installed."""

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from groundup.inside.official_driver import owed_by
from groundup.suites.repogenesis.driving import driver


@pytest.mark.parametrize("name", ["official_driver.py", "legacy_driver.py"])
def test_a_driver_is_one_file_that_needs_nothing_else(name: str, tmp_path: Path) -> None:
    """It loads with the standard library only, and brings the stopwatch by which it waits."""
    path = tmp_path / name
    path.write_bytes(driver(name))
    code = f"import runpy; print(runpy.run_path({str(path)!r}, run_name='driver')['Stopwatch'].__name__)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "Stopwatch\n"), done.stderr


def test_the_official_driver_asks_how_long_packages_were_owed() -> None:
    """What the gateway says counts, also when it cannot be asked again; without a gateway nothing is owed."""

    class Gateway(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/-/owed" else 404)
            self.end_headers()
            self.wfile.write(b"7.500\n")

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Gateway) as server:
        threading.Thread(target=server.serve_forever).start()
        owed_s = owed_by(f"127.0.0.1:{server.server_port}/-/owed")
        assert owed_s() == 7.5
        server.shutdown()
    assert (owed_s(), owed_by("")()) == (7.5, 0.0)
