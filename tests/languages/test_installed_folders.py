"""Folders that a restore filled give everything away: a mask of the repository removes them."""

from pathlib import Path

from groundup.languages.masking import mask_repository


def test_installed_packages_are_removed(tmp_path: Path) -> None:
    """node_modules beside a package.json, obj and builds beside a project go, with all that was restored."""
    for name in (
        "package.json",
        "node_modules/left-pad/package.json",
        "web/package.json",
        "web/node_modules/.package-lock.json",
        "web/src/node_modules.js",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "obj").mkdir()
    (tmp_path / "obj/model.obj").write_text("kept: no project lies beside it")
    (tmp_path / "A/obj").mkdir(parents=True)
    (tmp_path / "A/A.csproj").write_text("<Project/>")
    (tmp_path / "A/obj/A.csproj.nuget.g.props").write_text("<Project/>")
    (tmp_path / "A/packages.lock.json").write_text("{}")
    for name in ("A/bin/Debug/net9.0/A.deps.json", "A/bin/start.sh"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    report = mask_repository(tmp_path)
    assert set(report.removed) == {
        "node_modules/",
        "web/node_modules/",
        "A/obj/",
        "A/bin/Debug/",
        "A/packages.lock.json",
    }
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {
        "package.json",
        "web/package.json",
        "web/src/node_modules.js",
        "obj/model.obj",
        "A/A.csproj",
        "A/bin/start.sh",
    }


def test_a_linked_folder_stays(tmp_path: Path) -> None:
    """A link called node_modules may lead anywhere: it is not followed and not removed."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    root = tmp_path / "root"
    root.mkdir()
    (root / "package.json").write_text("{}")
    (root / "node_modules").symlink_to(outside)
    assert mask_repository(root).removed == ()
    assert (outside / "file").exists()
