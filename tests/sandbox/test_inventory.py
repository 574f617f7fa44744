"""Which programs an agent found: names and versions, and how two systems differ."""

from pathlib import Path

from groundup.domain.inventory import Inventory, differing_programs
from groundup.sandbox.inventory import host_inventory, image_inventory, listed_inventory
from groundup.sandbox.rooted import UnpackedImage


def _program(path: Path, content: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content or path.name)
    path.chmod(0o755)


def _image(root: Path, **environment: str) -> UnpackedImage:
    return UnpackedImage(name="base.tar", digest="sha256:abc", root=root, environment=environment)


def test_packages_say_the_versions(tmp_path: Path) -> None:
    """A program is known by its package, through links and both spellings of /usr; others are by content."""
    _program(tmp_path / "usr/bin/git")
    _program(tmp_path / "usr/bin/mawk")
    _program(tmp_path / "usr/bin/mine")
    (tmp_path / "usr/bin/data").write_text("no program")
    (tmp_path / "usr/bin/awk").symlink_to("/etc/alternatives/awk")
    (tmp_path / "etc/alternatives").mkdir(parents=True)
    (tmp_path / "etc/alternatives/awk").symlink_to("/usr/bin/mawk")
    (tmp_path / "bin").symlink_to("usr/bin")
    records = tmp_path / "var/lib/dpkg"
    (records / "info").mkdir(parents=True)
    (records / "status").write_text("Package: git\nVersion: 1:2.39\n\nPackage: mawk\nVersion: 1.3.4\n")
    (records / "info/git.list").write_text("/.\n/usr/bin/git\n")
    (records / "info/mawk:amd64.list").write_text("/bin/mawk\n")
    found = image_inventory(_image(tmp_path, PATH="/usr/bin:/bin:/absent"))
    content = found.programs.pop("mine")
    assert found.programs == {"awk": "mawk 1.3.4", "git": "git 1:2.39", "mawk": "mawk 1.3.4"}
    assert content.startswith("sha256:")
    assert (found.origin, found.digest) == ("base.tar", "sha256:abc")


def test_links_of_an_image_do_not_lead_out_of_it(tmp_path: Path) -> None:
    """A stranger's image is not asked about this machine's files, and a circle of links ends."""
    root = tmp_path / "root"
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/sh").symlink_to("../../../../../../bin/sh")
    (root / "usr/bin/a").symlink_to("b")
    (root / "usr/bin/b").symlink_to("a")
    assert image_inventory(_image(root, PATH="/usr/bin")).programs == {}


def test_the_same_programs_have_the_same_digest() -> None:
    """The digest of this machine's programs says nothing but which they are; the listed ones are some of them."""
    host, listed = host_inventory(), listed_inventory()
    assert host.origin == "host"
    assert host.digest.startswith("sha256:")
    assert listed.programs.items() - host.programs.items() <= {
        (name, version)
        for name, version in listed.programs.items()
        if name in ("chroot", "ldconfig", "runuser", "sysctl")
    }


def test_a_difference_names_programs_and_versions() -> None:
    """A reader learns which programs only one of two agents had, and which had another version."""
    one = Inventory(origin="host", digest="sha256:1", programs={"git": "git 1", "sh": "dash 1", "convert": "x 1"})
    other = Inventory(origin="host", digest="sha256:2", programs={"git": "git 2", "sh": "dash 1"})
    assert differing_programs(one, other) == "git 1 and git 2; only the first has convert"
    assert differing_programs(one, one) == ""
