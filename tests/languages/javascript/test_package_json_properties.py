"""package.json: the laws, on generated manifests with every layout that JSON allows."""

import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from groundup.languages.javascript.package_json import PackageJson
from tests.effort import often
from tests.manifests.span_laws import assert_laws

NAMES = st.from_regex(r"(@[a-z]{1,3}/)?[a-z][a-z0-9._-]{0,6}", fullmatch=True)
SPECIFIERS = st.one_of(
    st.sampled_from(
        [
            "^1.2.3",
            "",
            "*",
            "latest",
            "npm:other@1",
            "npm:@s/other",
            "npm:odd@",
            "workspace:*",
            "workspace:../x",
            "workspace:x@*",
            "catalog:old",
            "file:../x",
            "./x",
            "user/repo",
            "git://example.org/x.git#1",
            "jsr:^1",
        ]
    ),
    st.text(st.characters(codec="utf-8"), max_size=6),
)
OBJECTS = st.dictionaries(NAMES, SPECIFIERS, max_size=5)
VALUES = st.recursive(
    SPECIFIERS | st.booleans() | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=5,
)
MANIFESTS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.just("x"),
        "dependencies": OBJECTS,
        "devDependencies": OBJECTS,
        "peerDependencies": OBJECTS,
        "peerDependenciesMeta": st.dictionaries(NAMES, st.sampled_from([{"optional": True}, {}, {"a": [1]}])),
        "optionalDependencies": OBJECTS,
        "bundledDependencies": st.lists(NAMES, max_size=3, unique=True),
        "overrides": st.dictionaries(NAMES, VALUES, max_size=3),
        "resolutions": OBJECTS,
        "pnpm": st.fixed_dictionaries(
            {}, optional={"overrides": OBJECTS, "neverBuiltDependencies": st.just(["a"])}
        ),
        "workspaces": st.one_of(
            st.just(["a/*"]), st.fixed_dictionaries({"catalogs": st.dictionaries(NAMES, OBJECTS)})
        ),
        "scripts": VALUES,
    },
)


def scattered(value: object, chance: random.Random) -> str:
    """Return *value* as JSON with any blanks between its tokens."""

    def blank() -> str:
        return chance.choice(["", "", " ", "\n", "\t", "\r\n", "\n    "])

    if isinstance(value, dict):
        parts = [
            blank() + json.dumps(key, ensure_ascii=chance.random() < 0.5) + blank() + ":" + blank()
            + scattered(item, chance) + blank()
            for key, item in value.items()
        ]  # fmt: skip
        return "{" + (",".join(parts) or blank()) + "}"
    if isinstance(value, list):
        return "[" + (",".join(blank() + scattered(item, chance) + blank() for item in value) or blank()) + "]"
    return json.dumps(value)


@settings(max_examples=often(200), deadline=None)
@given(
    MANIFESTS, st.sampled_from([None, 2, 4, "\t", "scattered"]), st.booleans(), st.randoms(use_true_random=False)
)
def test_laws(manifest: dict[str, object], layout: str | int | None, windows: bool, chance: random.Random) -> None:
    """However a manifest is laid out, reading, masking, writing and editing keep the laws."""
    text = scattered(manifest, chance) if layout == "scattered" else json.dumps(manifest, indent=layout)
    if windows and layout != "scattered":
        text = "\ufeff" + text.replace("\n", "\r\n") + "\r\n"
    assert_laws(PackageJson(), text.encode(), "package.json")
