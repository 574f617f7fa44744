"""The pip of agents who are to write a library that pip itself brings along: pip's commands, done by uv.

Runs inside, by any Python since 3.7, with the standard library only. It is `pip.__main__` of the agent's
environment and of every environment that `python -m venv` makes, for it is the `ensurepip` inside, too.
"""

import os
import re
import subprocess
import sys
import sysconfig
import urllib.parse
import urllib.request
from pathlib import Path

UV = "/opt/uv/uv"
_PASSED_ON = ("install", "uninstall", "list", "freeze", "show", "check", "tree")
_FLAGS = (
    "--disable-pip-version-check", "--no-cache-dir", "--no-color", "--no-input", "--no-python-version-warning",
    "--no-warn-script-location", "--no-warn-conflicts", "--prefer-binary", "--user", "--use-pep517", "-y", "--yes",
    "--isolated", "--break-system-packages",
)  # fmt: skip
_VALUES = (
    "--cache-dir", "--log", "--progress-bar", "--retries", "--root-user-action", "--timeout", "--trusted-host",
    "--upgrade-strategy", "--use-feature",
)  # fmt: skip
"""What uv does not need and does not know; the second take a value."""
_LINK = re.compile(r'<a [^>]*href="([^"]+)"[^>]*>([^<]+)</a>', re.IGNORECASE)


def main(argv: "list[str]") -> int:
    """Do what pip's command line asks for, and return the exit code."""
    if argv[:1] in (["--version"], ["-V"]):
        version = subprocess.check_output([UV, "--version"]).decode().split()[1]
        print(f"pip by uv {version} from {Path(__file__).parent} (python 3.{sys.version_info[1]})")
        return 0
    os.environ.setdefault("UV_LINK_MODE", "copy")
    arguments = _without_noise(argv)
    command = next((word for word in arguments if not word.startswith("-")), "help")
    if command in arguments:
        arguments.remove(command)
    if command == "download":
        return _download(arguments)
    if command in _PASSED_ON:
        return subprocess.call([UV, "pip", command, "--python", sys.executable, *arguments])
    print(f"pip {command} is not offered here; there are {', '.join((*_PASSED_ON, 'download'))}, and uv is {UV}")
    return 0 if command == "help" else 1


def _without_noise(argv: "list[str]") -> "list[str]":
    kept, words = [], iter(argv)
    for word in words:
        if word in _VALUES:
            next(words, None)
        elif word not in _FLAGS and word.partition("=")[0] not in _VALUES:
            kept.append(word)
    return kept


def _download(arguments: "list[str]") -> int:
    """Save what `uv pip compile` chooses; options but -d and -r are uv's."""
    folder, wanted, options, words = Path(), [], [], iter(arguments)
    for word in words:
        if word in ("-d", "--dest", "--destination-directory"):
            folder = Path(next(words, "."))
        elif word.startswith("--dest="):
            folder = Path(word.partition("=")[2])
        elif word in ("-r", "--requirement"):
            wanted += Path(next(words, "")).read_text(encoding="utf-8").splitlines()
        elif word in ("-c", "--constraint", "--index-url", "-i", "--only-binary", "--no-binary"):
            options += [word, next(words, "")]
        elif word.startswith("-"):
            options.append(word)
        else:
            wanted.append(word)
    argv = [UV, "pip", "compile", "-", "-q", "--no-header", "--no-annotate", "--python", sys.executable, *options]
    result = subprocess.run(argv, input="\n".join(wanted).encode(), stdout=subprocess.PIPE, check=False)
    if result.returncode:
        return result.returncode
    folder.mkdir(parents=True, exist_ok=True)
    for line in result.stdout.decode().splitlines():
        name, _, version = line.partition(" ;")[0].strip().partition("==")
        if version and not _save(name.partition("[")[0], version.strip(), folder):
            print(f"ERROR: no file of {name} {version} fits this Python")
            return 1
    print(f"Successfully downloaded {' '.join(wanted)}")
    return 0


def _save(name: str, version: str, folder: Path) -> bool:
    index = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("PIP_INDEX_URL") or ""
    page = f"{index.rstrip('/')}/{name}/"
    with urllib.request.urlopen(urllib.request.Request(page, headers={"Accept": "text/html"})) as answer:
        links = _LINK.findall(answer.read().decode())
    fitness, link = max(((_fitness(text.strip(), name, version), link) for link, text in links), default=(0, ""))
    if not fitness:
        return False
    place = urllib.parse.urljoin(page, link.partition("#")[0].replace("&amp;", "&"))
    target = folder / urllib.parse.unquote(place.rpartition("/")[2])
    with urllib.request.urlopen(place) as answer:
        target.write_bytes(answer.read())
    print(f"Saved {target}")
    return True


def _fitness(filename: str, name: str, version: str) -> int:
    """Return how well a file fits: 0 not at all, 1 a source distribution, more for a wheel."""
    plain = _normal(name)
    for ending in (".tar.gz", ".zip"):
        if filename.endswith(ending):
            return int(_normal(filename[: -len(ending)]) == f"{plain}_{_normal(version)}")
    parts = filename[: -len(".whl")].split("-")
    if not filename.endswith(".whl") or len(parts) < 5 or (_normal(parts[0]), parts[1]) != (plain, version):
        return 0
    minor = sys.version_info[1]
    pythons, abis, platforms = (set(part.split(".")) for part in parts[-3:])
    machine = sysconfig.get_platform().rpartition("-")[2]
    here = any(part.startswith(("manylinux", "linux")) and part.endswith(machine) for part in platforms)
    if not here and "any" not in platforms:
        return 0
    if f"cp3{minor}" in pythons and abis & {f"cp3{minor}", f"cp3{minor}m"}:
        return 5
    if "abi3" in abis and pythons & {f"cp3{number}" for number in range(2, minor + 1)}:
        return 4
    pure = {"py3", f"cp3{minor}", *(f"py3{number}" for number in range(minor + 1))}
    return 2 + here if "none" in abis and pythons & pure else 0


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def install(packages: Path, scripts: Path, python: str) -> None:
    """Put this pip into the folders of an environment's packages and scripts."""
    folder = packages / "pip"
    for place in (folder, scripts):
        place.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text('"""The commands of pip, done by uv."""\n')
    (folder / "__main__.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    for name in ("pip", "pip3"):
        (scripts / name).write_text(f'#!/bin/sh\nexec {python} -m pip "$@"\n')
        (scripts / name).chmod(0o755)


if __name__ == "__main__" and __package__ == "ensurepip":
    install(Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("scripts")), sys.executable)
elif __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
