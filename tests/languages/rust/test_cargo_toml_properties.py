"""Cargo.toml: the laws, on generated manifests."""

from hypothesis import given, settings
from hypothesis import strategies as st

from groundup.languages.rust.cargo_toml import CargoToml
from tests.effort import often
from tests.manifests.span_laws import assert_laws

NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,7}", fullmatch=True)
VERSIONS = st.sampled_from(["1", "^1.2", ">=1, <2", "*", "=0.1.0-alpha.1"])
HEADERS = st.sampled_from(
    [
        "dependencies",
        "dev-dependencies",
        "build-dependencies",
        "target.'cfg(unix)'.dependencies",
        'target."cfg(target_os = \\"linux\\")".dev-dependencies',
        "workspace.dependencies",
        "patch.crates-io",
    ]
)
OTHERS = st.sampled_from(
    ['[package]\nname = "x" # y\n', "[features]\ndefault = []\n", "[profile.release]\nlto=true\n", "# alone\n"]
)
KEYS = st.lists(
    st.sampled_from(
        [
            ("features", '["a", "b"]'),
            ("default-features", "false"),
            ("optional", "true"),
            ("package", "'other-name'"),
            ("path", '"../x"'),
            ("git", '"https://example.org/x"'),
            ("rev", '"12345"'),
            ("registry", '"mine"'),
            ("artifact", '["bin"]'),
        ]
    ),
    unique_by=lambda pair: pair[0],
    min_size=1,
    max_size=5,
)


@st.composite
def declarations(draw: st.DrawFn, header: str, name: str) -> tuple[str, str]:
    """Return lines below the header, and a table of its own, of which one is empty."""
    comment = draw(st.sampled_from(["", "  # said", "\t#x"]))
    above = draw(st.sampled_from(["", "", "# above\n", "\n"]))
    key = draw(st.sampled_from([name, f'"{name}"', f"{name} "]))
    form = draw(st.sampled_from(["version", "inline", "dotted", "table"]))
    if form == "version":
        return f'{above}{key} = "{draw(VERSIONS)}"{comment}\n', ""
    pairs = draw(KEYS)
    if form == "inline":
        body = draw(st.sampled_from([", ", ","])).join(f"{one} = {two}" for one, two in pairs)
        return f"{above}{key} = {{ {body} }}{comment}\n", ""
    if form == "dotted":
        return above + "".join(f"{key}.{one} = {two}{comment}\n" for one, two in pairs), ""
    return "", f"[{header}.{name}]{comment}\n" + "".join(f"{one} = {two}\n" for one, two in pairs) + above


@st.composite
def manifests(draw: st.DrawFn) -> bytes:
    """Return the bytes of a manifest with declarations in many forms."""
    parts = [draw(OTHERS)]
    for header in draw(st.lists(HEADERS, unique=True, max_size=4)):
        names = draw(st.lists(NAMES, unique_by=lambda name: name.strip(), max_size=5))
        found = [draw(declarations(header, name)) for name in names]
        lines = "".join(line for line, _ in found)
        if lines or draw(st.booleans()):
            parts.append(f"[{header}]\n{lines}")
        parts += [table for _, table in found if table]
    text = ("\n" * draw(st.integers(0, 2))).join(parts)
    if draw(st.booleans()):
        text = text.rstrip("\n")
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.replace("\n", newline).encode()


@settings(max_examples=often(150), deadline=None)
@given(manifests())
def test_laws(data: bytes) -> None:
    """Whatever form declarations have, reading, masking, writing and editing keep the laws."""
    assert_laws(CargoToml(), data, "Cargo.toml")
