"""Cargo.toml: what is declared in every form, and edits that touch nothing else."""

import pytest

from groundup.languages.formats import format_of
from groundup.languages.rust.cargo_toml import CargoToml
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, ManifestError
from tests.manifests.span_laws import assert_laws

CARGO = CargoToml()
PATH = "crates/one/Cargo.toml"

EVERYTHING = b"""\
# top
[package]
name = "one"      # keep   this
dependencies-note = "none"

[features]
default = ["dep:serde", "log?/std"]

[dependencies]
# for configuration
serde = { version = "1.0", features = ["derive", "rc"], default-features = false, optional = true }
log = "0.4"     # as usual
json = { package = 'serde_json', version = "1" }
shared.workspace = true
shared.features = ["a"]
local = { path = "../local", version = "0.2" }

[dependencies.forked]
git = "https://example.org/forked"
branch = "main"

[target.'cfg(unix)'.dependencies]
libc = "0.2"

[target.'cfg(windows)'.build-dependencies.winres]
version = "0.1"

[dev_dependencies]
proptest = "1"

[build-dependencies]
cc = { version = "1", optional = true }

[workspace]
members = ["crates/*"]
dependencies.anyhow = "1"

[patch.crates-io]
log = { path = "../log" }

[replace]
"foo:0.1.0" = { git = "https://example.org/foo" }

[[bin]]
name = "one"
"""


def declared(data: bytes) -> dict[str, Dependency]:
    """Return the dependencies by name; the last of a name counts."""
    return {item.name: item for item in CARGO.read(data, PATH).dependencies}


def test_reads_every_form() -> None:
    """Tables, dotted keys, inline tables, targets, renames, workspaces, patches: each is one typed record."""
    found = declared(EVERYTHING.replace(b"[patch.crates-io]\nlog", b"[patch.crates-io]\nlog-patched"))
    assert found["serde"].kind is DependencyKind.OPTIONAL
    assert found["serde"].extras == ("derive", "rc")
    assert found["serde"].details == (("default-features", "false"),)
    assert (found["log"].constraint, found["log"].kind) == ("0.4", DependencyKind.RUNTIME)
    assert (found["serde_json"].alias, found["serde_json"].normalised) == ("json", "serde_json")
    assert (found["shared"].source, found["shared"].extras) == (DependencySource.WORKSPACE, ("a",))
    assert (found["local"].source, found["local"].origin, found["local"].constraint) == (
        DependencySource.PATH,
        "../local",
        "0.2",
    )
    assert (found["forked"].source, found["forked"].details) == (DependencySource.GIT, (("branch", "main"),))
    assert found["libc"].marker == "cfg(unix)"
    assert (found["winres"].kind, found["winres"].marker) == (DependencyKind.BUILD, "cfg(windows)")
    assert found["proptest"].kind is DependencyKind.DEV
    assert found["cc"].details == (("optional", "true"),)
    assert found["anyhow"].kind is DependencyKind.CONSTRAINT
    assert (found["log-patched"].kind, found["log-patched"].group) == (DependencyKind.OVERRIDE, "patch.crates-io")
    assert (found["foo"].alias, found["foo"].group) == ("foo:0.1.0", "replace")


def test_laws_on_every_form() -> None:
    """All laws hold for one file with everything in it, with both line ends and with a BOM."""
    assert_laws(CARGO, EVERYTHING, PATH)
    assert_laws(CARGO, b"\xef\xbb\xbf" + EVERYTHING.replace(b"\n", b"\r\n"), PATH)


def test_mask_leaves_everything_else() -> None:
    """A mask takes declarations and their comments, leaves empty tables and not one other byte changed."""
    masked = CARGO.mask(EVERYTHING, PATH).decode()
    for name in (
        "serde =",
        "configuration",
        "forked",
        "libc =",
        "winres",
        "proptest",
        "cc =",
        "anyhow",
        "foo:0.1.0",
    ):
        assert name not in masked
    for kept in (
        "# top\n",
        'name = "one"      # keep   this\n',
        "[dependencies]\n",
        "[[bin]]\n",
        "[dev_dependencies]\n",
    ):
        assert kept in masked
    assert '[target."cfg(windows)".build-dependencies]\n' in masked


def test_mask_of_one_kind() -> None:
    """Masking one kind leaves the declarations of all others byte for byte."""
    masked = CARGO.mask(EVERYTHING, PATH, {DependencyKind.DEV})
    assert masked == EVERYTHING.replace(b'proptest = "1"\n', b"")


def test_a_mask_says_what_it_leaves() -> None:
    """Features name dependencies and stay: a note says so; workspace members are referred to."""
    notes = CARGO.read(EVERYTHING, PATH).notes
    assert [note.message for note in notes if note.topic == "kept"] == ["features name dependencies: default"]
    assert [note.target for note in notes if note.topic == "reference"] == ["crates/*"]


def test_adds_at_the_end_of_a_table_and_makes_missing_ones() -> None:
    """A new declaration stands last in its table; a target's table is made."""
    data = b'[package]\nname = "a"\n\n[dependencies]\nlog = "0.4" # c\n\n[features]\n'
    new = Dependency(language="rust", name="rand", normalised="rand", constraint="0.8", extras=("std",))
    target = Dependency(language="rust", name="libc", normalised="libc", marker="cfg(unix)")
    changed = CARGO.write(data, [*CARGO.read(data, PATH).dependencies, new, target], PATH)
    added = b'log = "0.4" # c\nrand = { version = "0.8", features = ["std"] }\n'
    assert changed.startswith(data.replace(b'log = "0.4" # c\n', added))
    assert b'dependencies]\nlibc = "*"\n' in changed
    assert declared(changed)["libc"].marker == "cfg(unix)"


@pytest.mark.parametrize(
    ("data", "line", "text"),
    [
        (b'[dependencies]\nlog = "0.4\n', 2, "not valid TOML"),
        (b"[package]\n[dependencies]\nlog = 4\n", 3, "must be a version or a table"),
        (b"[dependencies]\nlog = { version = 1 }\n", 2, "strings"),
        (b'[dependencies.log]\nfeatures = "std"\n', 1, "features"),
        (b"dependencies = 3\n", 1, "must be a table"),
        (b'[package]\nname = "\xff"\n', None, "UTF-8"),
    ],
)
def test_malformed_files_name_file_and_line(data: bytes, line: int | None, text: str) -> None:
    """A file that cannot be understood is one clear error with its path and line."""
    with pytest.raises(ManifestError) as caught:
        CARGO.read(data, PATH)
    assert str(caught.value).startswith(PATH)
    assert text in str(caught.value)
    assert line is None or caught.value.line == line


def test_one_name_twice_in_a_table_is_refused() -> None:
    """TOML has no place for two versions under one key: said, not silently dropped."""
    twice = [
        Dependency(language="rust", name="log", normalised="log", constraint=version) for version in ("1", "2")
    ]
    with pytest.raises(ManifestError, match="twice"):
        CARGO.write(b"[dependencies]\n", twice, PATH)


def test_is_found_by_name() -> None:
    """Cargo.toml is recognised wherever it lies; its normalised copies are not."""
    found = format_of(PATH)
    assert found is not None
    assert found.name == "Cargo.toml"
    assert format_of("Cargo.toml.orig") is None


def test_adds_beside_dotted_keys() -> None:
    """A table beside dotted keys of its name would be a TOML error."""
    data = b'dependencies.log = "0.4"\n\n[package]\nname = "a"\n'
    new = Dependency(language="rust", name="rand", normalised="rand", constraint="0.8")
    changed = CARGO.write(data, [*CARGO.read(data, PATH).dependencies, new], PATH)
    assert changed == data.replace(b"\n\n", b'\ndependencies.rand = "0.8"\n\n')
