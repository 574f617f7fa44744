"""Rust and Cargo."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from groundup.languages.record import LanguageRecord

if TYPE_CHECKING:
    from groundup.manifests.sections import ManifestFormat


def _in_source(name: str) -> str:
    return name.replace("-", "_")  # Cargo keeps the difference in a manifest; rustc cannot


def _formats() -> "Sequence[ManifestFormat]":
    from groundup.languages.rust.cargo_toml import CargoToml

    return (CargoToml(),)


LANGUAGE = LanguageRecord(
    name="Rust",
    suffixes=(".rs",),
    registry="crates",
    installer="cargo",
    lock_files=("Cargo.lock", "Cargo.toml.orig", "Cargo.Bazel.lock"),
    telltales=("deny.toml", "cross.toml", "*.nix"),
    sdk="Rust",
    version_keys=("rust", "toolchain", "version"),
    imports="(use_declaration) @statement (extern_crate_declaration) @statement",
    has_central_versions=True,
    programs="cargo|rustc|rustup|maturin",
    setup_actions="rust-toolchain|setup-rust|actions-rs/toolchain",
    setup_inputs=("toolchain", "rust-version", "channel"),
    toolchain="rust",
    program="rustc",
    install="install Rust with cargo and put `cargo` and `rustc` on PATH",
    canonical_import=_in_source,
    formats=_formats,
    test_pattern=r"^[ \t]*#\[(?:\w+::)*(?:test|rstest|test_case|wasm_bindgen_test)\b",
)
