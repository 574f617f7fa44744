"""Debian's own records are read as they are written."""

from pathlib import Path

import pytest

from groundup.sandbox.debian import files_of, packages

_STATUS = """\
Package: git
Status: install ok installed
Architecture: amd64
Version: 1:2.39.5-0+deb12u2
Depends: libc6 (>= 2.34), absent | perl:any, mail-agent
Description: fast, scalable
 Depends: not this

Package: perl
Status: install ok installed
Version: 5.36
Pre-Depends: libc6

Package: libc6
Status: install ok installed
Version: 2.36
Depends: git

Package: exim
Status: install ok installed
Version: 4
Provides: mail-agent (= 1), smtpd

Package: gone
Status: deinstall ok config-files
Version: 1
"""


@pytest.fixture
def debian(tmp_path: Path) -> Path:
    """Return a system with a few packages."""
    info = tmp_path / "var/lib/dpkg/info"
    info.mkdir(parents=True)
    (info.parent / "status").write_text(_STATUS)
    (info / "git.list").write_text("/.\n/usr/bin/git\n")
    (info / "libc6:amd64.list").write_text("/lib/x86_64-linux-gnu/libc.so.6\n")
    return tmp_path


def test_what_is_installed_is_found(debian: Path) -> None:
    """What is not installed any more is not there."""
    found = packages(debian)
    assert {*found} == {"git", "perl", "libc6", "exim"}
    assert files_of(debian, {"git", "libc6"}) == {
        "git": ["/.", "/usr/bin/git"],
        "libc6": ["/lib/x86_64-linux-gnu/libc.so.6"],
    }


def test_another_system_has_no_packages(tmp_path: Path) -> None:
    """Its programs are known by their content."""
    assert packages(tmp_path) == {}
    assert files_of(tmp_path, {"git"}) == {}
