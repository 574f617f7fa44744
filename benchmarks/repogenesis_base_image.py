"""A local stand-in for `python:3.10-slim`: `python -m benchmarks.repogenesis_base_image --python PREFIX`.

Where Docker can pull no image: Debian by `debootstrap`, with the interpreter at PREFIX (such as pyenv's
`versions/3.10.13`) copied to /usr/local, and this machine's certificates, imported under the published name. Needs
root, `debootstrap` and a running Docker.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGES = (
    "ca-certificates,curl,procps,netcat-openbsd,libssl3,libsqlite3-0,libffi8,zlib1g,libbz2-1.0,liblzma5,"
    "libreadline8,libncursesw6,libuuid1,libexpat1,libgdbm6"
)
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
ENVIRONMENT = (
    "ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "
    f"PIP_CERT=/{CERTIFICATES} SSL_CERT_FILE=/{CERTIFICATES} REQUESTS_CA_BUNDLE=/{CERTIFICATES}"
)


def main() -> int:
    """Make the image."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, required=True, help="prefix of an interpreter 3.10")
    parser.add_argument("--suite", default="bookworm", help="Debian release with the libraries it was built for")
    parser.add_argument("--tag", default="python:3.10-slim")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="groundup-base-") as name:
        root = Path(name) / "root"
        command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", chosen.suite, str(root)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        _add_python(root, chosen.python)
        archive = subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE)
        imported = ["docker", "import", "--change", ENVIRONMENT, "--change", 'CMD ["python3"]', "-", chosen.tag]
        subprocess.run(imported, stdin=archive.stdout, check=True)
        return archive.wait()


def _add_python(root: Path, prefix: Path) -> None:
    local = root / "usr/local"
    for name in ("bin", "lib", "include"):
        shutil.copytree(
            prefix / name,
            local / name,
            symlinks=True,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("__pycache__", "site-packages", "test", "*.a"),
        )
    (local / "lib/python3.10/site-packages").mkdir()
    for script in (local / "bin").glob("pip*"):  # they name the interpreter where it was
        script.unlink()
    for name in ("python", "python3"):
        (local / "bin" / name).unlink(missing_ok=True)
        (local / "bin" / name).symlink_to("python3.10")
    shutil.copyfile(Path("/") / CERTIFICATES, root / CERTIFICATES)
    for command in (["ldconfig"], ["python", "-m", "ensurepip"], ["ln", "-s", "pip3", "/usr/local/bin/pip"]):
        subprocess.run(["chroot", str(root), *command], check=True)


if __name__ == "__main__":
    sys.exit(main())
