"""pnpm-workspace.yaml: catalogs and overrides, line by line."""

import pytest

from groundup.languages.javascript.pnpm_workspace import PnpmWorkspace
from groundup.manifests.records import Dependency, DependencyKind, ManifestError
from tests.manifests.span_laws import assert_laws

PNPM = PnpmWorkspace()
PATH = "pnpm-workspace.yaml"

EVERYTHING = b"""\
packages:
- 'packages/*'   # all

catalog:
  # why
  react: ^18
  '@x/y': "1" # no
catalogs:
  old:
    react: '16'
overrides:
    a>b: 1.2.3
packageExtensions:
  foo:
    dependencies:
      bar: '*'
onlyBuiltDependencies:
- esbuild
allowBuilds: {}
peerDependencyRules:
  ignoreMissing:
    - vue
linkWorkspacePackages: true
"""


def test_reads_catalogs_and_overrides() -> None:
    """A catalog's entries are constraints, everything that forces versions is an override."""
    found = {(item.group, item.name): item for item in PNPM.read(EVERYTHING, PATH).dependencies}
    assert found["catalog", "@x/y"].constraint == "1"
    assert found["catalogs.old", "react"].kind is DependencyKind.CONSTRAINT
    assert found["overrides", "b"].details == (("selector", "a>b"),)
    assert found["packageExtensions", "foo"].kind is DependencyKind.OVERRIDE
    assert found["onlyBuiltDependencies", "esbuild"].kind is DependencyKind.OVERRIDE
    assert found["peerDependencyRules.ignoreMissing", "vue"].kind is DependencyKind.OVERRIDE
    assert [note.target for note in PNPM.read(EVERYTHING, PATH).notes] == ["packages/*"]


def test_laws() -> None:
    """All laws hold for one file with everything in it, with both line ends."""
    assert_laws(PNPM, EVERYTHING, PATH)
    assert_laws(PNPM, b"\xef\xbb\xbf" + EVERYTHING.replace(b"\n", b"\r\n"), PATH)


def test_mask_takes_entries_and_their_comments_only() -> None:
    """Keys stay, packages go, and everything else keeps its bytes."""
    masked = PNPM.mask(b"packages:\n- a\ncatalog:\n  # why\n  react: ^18\n\nshared: 1 # x\n", PATH)
    assert masked == b"packages:\n- a\ncatalog:\n\nshared: 1 # x\n"


def test_makes_missing_sections() -> None:
    """A catalog that is not there yet is made at the end."""
    new = [
        Dependency(
            language="javascript",
            name="a",
            normalised="a",
            constraint="^1",
            kind=DependencyKind.CONSTRAINT,
            group=group,
        )
        for group in ("catalog", "catalogs.next")
    ]
    assert PNPM.write(b"packages:\n  - b", new, PATH) == (
        b"packages:\n  - b\ncatalog:\n  a: ^1\ncatalogs:\n  next:\n    a: ^1"
    )


def test_an_empty_section_in_brackets_is_filled() -> None:
    """`catalog: {}` declares nothing, and gives way to lines."""
    new = Dependency(
        language="javascript",
        name="a",
        normalised="a",
        constraint="^1",
        kind=DependencyKind.CONSTRAINT,
        group="catalog",
    )
    assert PNPM.write(b"catalog: {} # none\npackages: []\n", [new], PATH) == (
        b"catalog: # none\n  a: ^1\npackages: []\n"
    )


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"catalog: { a: 1 }\n", 1),
        (b"# all in one line\n{catalog: {a: 1}}\n", 2),
        (b"packages: []\n---\n{catalog: {a: 1}}\n", 3),
        (b"\ncatalog:\n  ? a\n", 3),
        (b"overrides: &x\n  a: 1\n", 1),
        (b"catalog:\n\ta: 1\n", 2),
    ],
)
def test_other_styles_are_refused(data: bytes, line: int) -> None:
    """What is not written line by line is refused with its line rather than left to leak."""
    with pytest.raises(ManifestError) as caught:
        PNPM.mask(data, PATH)
    assert caught.value.line == line
