"""Images for agents: nothing of the original is left, by content."""

import io
import zipfile
from pathlib import Path

from groundup.environments.image_removal import image_for_agents
from groundup.sandbox.rooted import UnpackedImage
from groundup.settings import Settings
from groundup.trees.fingerprints import Fingerprint
from tests.grading.library.laboratory import write_tree

CODE = "\n".join(
    f"def part_{number}(given):\n    value = given.field_{number} + {number * 7}\n"
    f"    return value.method_{number}(given['key {number}'], {number})\n"
    for number in range(60)
)
TEST = "from acme import part_1\n\n\ndef test_one():\n    assert part_1(None) == 'what it is meant to be'\n"
ORIGINAL = Fingerprint.of("acme", {"acme/core.py": CODE.encode()})
SITE = "usr/local/lib/python3.11/site-packages"


def zipped(name: str, text: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, text)
    return packed.getvalue()


async def left(tmp_path: Path, files: dict[str, str], packed: dict[str, bytes] | None = None) -> set[str]:
    """Return the files that agents see of an image with *files*."""
    root = write_tree(tmp_path / "root", files)
    for name, content in (packed or {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    image = UnpackedImage(name="acme.tar", digest="sha256:1", root=root)
    made = await image_for_agents(image, ORIGINAL, ("acme-lib", "acme"), Settings(cache_dir=tmp_path / "cache"))
    assert made.digest != image.digest
    return {str(path.relative_to(made.root)) for path in made.root.rglob("*") if path.is_file()}


async def test_copies_go_wherever_they_lie(tmp_path: Path) -> None:
    """Under other names, in archives, in histories and caches; what else the image has stays."""
    kept = {"etc/passwd": "root", f"{SITE}/pytest.py": "import sys\n", "usr/bin/tool": "#!/bin/sh\n"}
    renamed = CODE.replace("part_", "piece_")
    gone = {
        "workspace/tests/test_core.py": TEST,
        f"{SITE}/acme/core.py": CODE,
        f"{SITE}/acme/small.py": "X = 1\n",
        f"{SITE}/acme_lib-1.0.dist-info/METADATA": "Name: acme-lib\n",
        f"{SITE}/__editable__.acme_lib-1.0.pth": "/workspace\n",
        f"{SITE}/later.pth": "/workspace/src\n",
        "opt/other/renamed.py": renamed,
        "opt/other/part.py": "\n".join(renamed.splitlines()[:40]),
        "srv/notes/test_copy.txt": TEST,
        "root/.cache/pip/x": "wheel",
        "srv/repo/.git/HEAD": "ref",
        "srv/__pycache__/gone.cpython-311.pyc": "bytecode",
    }
    packed = {"srv/backup.zip": zipped("a/b.py", renamed), "srv/broken.zip": b"PK\x03\x04nothing"}
    assert await left(tmp_path, {**kept, **gone}, packed) == {*kept}


async def test_the_image_itself_keeps_all(tmp_path: Path) -> None:
    """Graders need what agents must not see."""
    await left(tmp_path, {f"{SITE}/acme/core.py": CODE, "workspace/tests/test_core.py": TEST})
    assert (tmp_path / "root" / SITE / "acme/core.py").read_text() == CODE
    assert (tmp_path / "root/workspace/tests/test_core.py").read_text() == TEST


async def test_a_link_out_of_the_image_is_not_followed(tmp_path: Path) -> None:
    """What lies on the host decides nothing about an image."""
    outside = write_tree(tmp_path / "outside", {"notes.txt": TEST})
    root = write_tree(tmp_path / "root", {"etc/passwd": "root", "srv/notes.txt": TEST})
    (root / "workspace").symlink_to(outside)
    image = UnpackedImage(name="acme.tar", digest="sha256:1", root=root)
    made = await image_for_agents(image, ORIGINAL, ("acme",), Settings(cache_dir=tmp_path / "cache"))
    assert {path.name for path in made.root.iterdir()} == {"etc", "srv"}
    assert (made.root / "srv" / "notes.txt").is_file()
    assert (outside / "notes.txt").is_file()
