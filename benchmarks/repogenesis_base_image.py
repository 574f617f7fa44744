"""Local stand-ins for the images that the published RepoGenesis harness starts from.

    python -m benchmarks.repogenesis_base_image --python PREFIX    # python:3.10-slim
    python -m benchmarks.repogenesis_base_image --java PREFIX      # maven:3.9-eclipse-temurin-17

Where Docker can pull no image: Debian by `debootstrap`, this machine's certificates, and the interpreter at
PREFIX (such as pyenv's `versions/3.10.13`) in /usr/local; or the JDK 17 at PREFIX in /opt/java/openjdk, Apache
Maven 3.9, which this machine's Maven fetches, and a local repository that holds what the reference services in
Java need; with `--no-seeds` it is empty, as in the published image, and builds fetch everything. The image is
imported under the published name. Needs root, `debootstrap` and a running Docker.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from groundup.suites.repogenesis.tasks import oracle_names, write_oracle

COMMON = ("ca-certificates", "curl", "procps", "netcat-openbsd", "zlib1g")
FOR_PYTHON = (
    *("libssl3", "libsqlite3-0", "libffi8", "libbz2-1.0", "liblzma5", "libreadline8", "libncursesw6", "libuuid1"),
    *("libexpat1", "libgdbm6"),
)
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
SEARCHED = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
PYTHON_ENVIRONMENT = (
    f"PATH={SEARCHED} LANG=C.UTF-8 "
    f"PIP_CERT=/{CERTIFICATES} SSL_CERT_FILE=/{CERTIFICATES} REQUESTS_CA_BUNDLE=/{CERTIFICATES}"
)
JAVA_HOME = "opt/java/openjdk"
MAVEN_HOME = "usr/share/maven"
MAVEN = "org.apache.maven:apache-maven:3.9.9:tar.gz:bin"
LOCAL_REPOSITORY = "root/.m2/repository"
JAVA_ENVIRONMENT = (
    f"PATH=/{JAVA_HOME}/bin:{SEARCHED} LANG=en_US.UTF-8 JAVA_HOME=/{JAVA_HOME} MAVEN_HOME=/{MAVEN_HOME}"
)
SEEDING_TEST = """
import org.junit.jupiter.api.Test;

class SeedingTest {
    @Test
    void passes() {}
}
"""


def main() -> int:
    """Make one of the two images."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--python", type=Path, help="prefix of an interpreter 3.10")
    kind.add_argument("--java", type=Path, help="prefix of a JDK 17")
    parser.add_argument("--no-seeds", action="store_true", help="leave Maven's local repository empty")
    parser.add_argument("--suite", default="bookworm", help="Debian release with the libraries it was built for")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="groundup-base-") as name:
        root = Path(name) / "root"
        if chosen.python is not None:
            _add_debian(root, chosen.suite, (*COMMON, *FOR_PYTHON))
            _add_python(root, chosen.python)
            return _imported(root, "python:3.10-slim", PYTHON_ENVIRONMENT, "python3")
        _add_debian(root, chosen.suite, COMMON)
        _add_java(root, chosen.java)
        if not chosen.no_seeds:
            _seed(root, Path(name) / "seeds")
        return _imported(root, "maven:3.9-eclipse-temurin-17", JAVA_ENVIRONMENT, "mvn")


def _add_debian(root: Path, suite: str, packages: Sequence[str]) -> None:
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", suite, str(root)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    shutil.copyfile(Path("/") / CERTIFICATES, root / CERTIFICATES)


def _imported(root: Path, tag: str, environment: str, program: str) -> int:
    archive = subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE)
    changes = ["--change", f"ENV {environment}", "--change", f'CMD ["{program}"]']
    subprocess.run(["docker", "import", *changes, "-", tag], stdin=archive.stdout, check=True)
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
    for command in (["ldconfig"], ["python", "-m", "ensurepip"], ["ln", "-s", "pip3", "/usr/local/bin/pip"]):
        subprocess.run(["chroot", str(root), *command], check=True)


def _add_java(root: Path, prefix: Path) -> None:
    """Add the JDK, whose configuration and certificates Debian keeps elsewhere, and Maven."""
    unused = shutil.ignore_patterns("src.zip", "jmods", "demo", "man", "docs")
    shutil.copytree(prefix, root / JAVA_HOME, ignore=unused, ignore_dangling_symlinks=True)
    fetched = root.parent / "maven"
    _maven("mvn", "dependency:copy", f"-Dartifact={MAVEN}", f"-DoutputDirectory={fetched}")
    (archive,) = fetched.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(fetched, filter="tar")
    (unpacked,) = (path for path in fetched.iterdir() if path.is_dir())
    shutil.copytree(unpacked, root / MAVEN_HOME)
    (root / "usr/bin/mvn").symlink_to(f"/{MAVEN_HOME}/bin/mvn")


def _seed(root: Path, seeds: Path) -> None:
    """Fill the image's local repository with what the references' builds and tests ask for."""
    program = str(root / MAVEN_HOME / "bin/mvn")
    repository = f"-Dmaven.repo.local={root / LOCAL_REPOSITORY}"
    for task in sorted(oracle_names()):
        project = seeds / task
        project.mkdir(parents=True)
        write_oracle(task, project)
        if not (project / "pom.xml").is_file():
            continue
        tests = project / "src/test/java"
        tests.mkdir(parents=True)
        (tests / "SeedingTest.java").write_text(SEEDING_TEST)
        print(f"seeding with {task}", flush=True)
        _maven(program, repository, "-f", str(project / "pom.xml"), "dependency:go-offline", "clean", "test")


def _maven(program: str, *arguments: str) -> None:
    command = [program, "-q", "-B", *arguments]
    done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")


if __name__ == "__main__":
    sys.exit(main())
