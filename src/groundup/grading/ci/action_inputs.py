"""What stand-ins understand of references and inputs of actions; the rest is told before anything runs."""

import re
from collections.abc import Iterator, Mapping

from groundup.grading.ci.actions import VERSION_REF, Action, inputs_of, stub_of, tool_of_ref

_OFF = r"|false|no|0"
_VALUES: Mapping[tuple[str, str], str] = {
    ("python", "architecture"): "|x64|x86_64",
    ("python", "freethreaded"): _OFF,
    ("node", "architecture"): "|x64",
    ("dotnet", "architecture"): "|x64",
    ("cache", "fail-on-cache-miss"): _OFF,
    ("cargo", "use-cross"): _OFF,
    ("pnpm", "run_install"): r"|null|true|false",
}
"""Patterns of what a stand-in can do with an input; others take any value."""
_RUST_REF = re.compile(r"stable.*|beta|nightly(?:-\d{4}-\d\d-\d\d)?|\d+\.\d+(?:\.\d+)?")
_NO_CRATES = frozenset({
    "cargo-binstall", "biome", "deepsource", "editorconfig-checker", "hugo", "knope", "osv-scanner", "protoc",
    "prek", "rclone", "shellcheck", "shfmt", "syft", "valgrind", "wasm-bindgen", "xh", "yq", "zizmor", "zola",
})  # fmt: skip
"""Tools of `taiki-e/install-action` that come as built programs only, or under another crate's name."""


def misunderstood(action: Action, inputs: Mapping[str, str | None]) -> Iterator[str]:
    """Yield what the stand-in for *action* would pass over in silence; a value of None is not known yet."""
    stub = stub_of(action)
    known = inputs_of(stub) if stub else None
    if stub is None or known is None:
        return
    for name, value in inputs.items():
        if name.lower() not in known and value != "":
            yield f"the stand-in for {action.name} does not know its input {name}"
        pattern = _VALUES.get((stub, name.lower()))
        if pattern is not None and value is not None and not re.fullmatch(pattern, value.strip(), re.IGNORECASE):
            yield f"the stand-in for {action.name} cannot do {name}: {' '.join(value.split())[:60]}"
    if stub == "cargo_tool":
        yield from _tools(action, inputs)
    if (
        action.name.lower() == "dtolnay/rust-toolchain"
        and "toolchain" not in inputs
        and not _RUST_REF.fullmatch(action.ref)
        and not VERSION_REF.fullmatch(action.ref)
    ):
        yield f"{action.name}@{action.ref} names no toolchain that is known"


def _tools(action: Action, inputs: Mapping[str, str | None]) -> Iterator[str]:
    given = {name.lower(): value for name, value in inputs.items()}
    told = [given[name] for name in ("tool", "crate") if given.get(name, "") != ""] or [tool_of_ref(action)]
    for text in told:
        names = None if text is None else [name for name in re.split(r"[\s,]+", text) if name]
        if names == []:
            yield f"{action.name}@{action.ref} names no tool"
        for name in names or ():
            if name.partition("@")[0] in _NO_CRATES:
                yield f"{action.name}: {name} is not to be had as a crate"
