"""Rust."""

import pytest

from groundup_infer.records import InferredKind, Manner
from groundup_infer.rust import rust_imports
from tests.groundup_infer.trees import inferred, names

CARGO = '[package]\nname = "mine"\nedition = "2021"\n'


def _crates(source: str) -> set[str]:
    return {root.crate for root in rust_imports(source.encode()).roots}


@pytest.mark.parametrize(
    ("source", "crates"),
    [
        ("use serde::Serialize;", {"serde"}),
        ("use {anyhow::Result, log::info as say};", {"anyhow", "log"}),
        ("use ::rand::Rng;", {"rand"}),
        ("pub use tokio::{io::{self, Read}, net};", {"tokio"}),
        ("extern crate libc as c;", {"libc"}),
        ("fn f() { regex::Regex::new(x); }", {"regex"}),
        ("fn f(x: http::Request) {}", {"http"}),
        ("#[tokio::main] async fn main() {}", {"tokio"}),
        ("#[derive(serde::Serialize)] struct A;", {"serde"}),
        ("#[derive(Debug, redis_macros::ToRedisArgs)] struct A;", {"redis_macros"}),
        ("fn f() { vec![bytes::Bytes::new()]; }", {"bytes"}),
        ('fn f() { log::info!("x::y"); }', {"log"}),
        ("use std::fmt; fn f() { fmt::Debug; core::mem::take(x); u32::MAX; Self::g(); }", set()),
        ("mod inner; use inner::x; fn f() { inner::g(); }", set()),
        ("use serde::de; fn f() { de::g(); } use de::x;", {"serde"}),
        ('// use fake::x;\nfn f() { "other::x"; }', set()),
        ("cfg_if::cfg_if! { if #[cfg(unix)] { mod soft; use soft::compress; } }", {"cfg_if"}),
    ],
)
def test_crates_are_the_roots_of_paths(source: str, crates: set[str]) -> None:
    """Uses, paths, attributes and macro tokens name crates; the language's own names and local ones do not."""
    assert _crates(source) == crates


@pytest.mark.parametrize(
    ("source", "manners"),
    [
        ("#[cfg(test)] mod tests { use proptest::x; }", {Manner.TEST}),
        ("#[test] fn f() { proptest::x(); }", {Manner.TEST}),
        ('#[cfg(feature = "p")] use proptest::x;', {Manner.FEATURE}),
        ('#[cfg(not(feature = "p"))] use proptest::x;', set()),
        ("#[cfg(windows)] use proptest::x;", {Manner.PLATFORM}),
        ('#[cfg(any(test, feature = "p"))] use proptest::x;', {Manner.FEATURE}),
    ],
)
def test_conditions_are_those_of_everything_around(source: str, manners: set[Manner]) -> None:
    """Attributes of the item and of its modules say when a crate is needed."""
    (root,) = rust_imports(source.encode()).roots
    assert set(root.manners) == manners


def test_kinds_follow_place_and_condition() -> None:
    """Tests and benches are for development, build.rs for building, features optional; the workspace is local."""
    found = inferred(
        "rust",
        {
            "Cargo.toml": '[workspace]\nmembers = ["a", "b"]\n',
            "a/Cargo.toml": CARGO,
            "a/src/lib.rs": 'use other_one::x; use serde_json::Value; #[cfg(feature = "z")] mod zipped;\n'
            "#[cfg(test)] mod checks;\n",
            "a/src/zipped.rs": "use flate2::read;\n",
            "a/src/checks.rs": "use tempfile::tempdir;\n",
            "a/src/main.rs": 'fn main() { mine::run(); clap::Command::new("x"); }\n',
            "a/tests/t.rs": "use assert_cmd::Command;\n",
            "a/build.rs": "fn main() { cc::Build::new(); }\n",
            "b/Cargo.toml": '[package]\nname = "other-one"\n',
            "b/src/lib.rs": "",
        },
    )
    assert names(found, InferredKind.RUNTIME) == {"serde_json", "clap"}
    assert names(found, InferredKind.OPTIONAL) == {"flate2"}
    assert names(found, InferredKind.DEV) == {"tempfile", "assert_cmd"}
    assert names(found, InferredKind.BUILD) == {"cc"}
    assert found.local == ("mine", "other_one")


def test_registry_names_are_known_or_said_to_be_guessed() -> None:
    """Where the registry's spelling is known it is used, otherwise it is a guess."""
    found = inferred("rust", {"Cargo.toml": CARGO, "src/lib.rs": "use tokio_util::x; use my_odd_thing::y;"})
    assert {item.name: item.known for item in found.dependencies} == {"tokio-util": True, "my-odd-thing": False}
    assert found.unknown == ("my_odd_thing",)


def test_macros_of_a_macro_crate_write_code_for_others() -> None:
    """Paths in the tokens of a procedural-macro crate are not its own dependencies."""
    found = inferred(
        "rust",
        {
            "Cargo.toml": CARGO + "[lib]\nproc-macro = true\n",
            "src/lib.rs": "use quote::quote; fn f() { quote! { serde::Serialize } }",
        },
    )
    assert names(found, InferredKind.RUNTIME) == {"quote"}


def test_the_edition_of_2015_looks_in_the_crate_first() -> None:
    """Before 2018, `use a::b` means the crate's own module when there is one."""
    files = {
        "Cargo.toml": '[package]\nname = "old"\n',
        "src/lib.rs": "mod log; mod x;",
        "src/x.rs": "use log::say;",
    }
    assert inferred("rust", files).dependencies == ()


@pytest.mark.parametrize(
    ("package", "imported", "crate"),
    [
        ("mine", "http_02x", "http"),
        ("mine", "hyper_0_14", "hyper"),
        ("mine", "tokio_dep", "tokio"),
        ("quinn", "proto", "quinn-proto"),
        ("openssl", "ffi", "openssl-sys"),
        ("mine", "md5", "md5"),
        ("mine", "unheard_of_2", "unheard-of-2"),
    ],
)
def test_renamed_crates_are_told_by_their_names(package: str, imported: str, crate: str) -> None:
    """A release in the name, or the family of the package, tells which known crate a manifest renamed."""
    files = {"Cargo.toml": CARGO.replace("mine", package), "src/lib.rs": f"use {imported}::Thing;\n"}
    assert names(inferred("rust", files), InferredKind.RUNTIME) == {crate}


def test_what_a_derive_names_by_its_path_is_needed() -> None:
    """A crate that no data file knows counts, too; a module of the crate's own does not."""
    files = {
        "Cargo.toml": CARGO,
        "src/lib.rs": "mod own;\n#[derive(Debug, redis_macros::ToRedisArgs, own::Shown)]\npub struct A;\n",
        "src/own.rs": "",
    }
    assert [one.name for one in inferred("rust", files).dependencies] == ["redis-macros"]


@pytest.mark.parametrize(
    ("attribute", "kind"),
    [
        ('#[cfg_attr(feature = "x", derive(their_macros::Two))]', InferredKind.OPTIONAL),
        ("#[cfg_attr(not(test), derive(Debug, their_macros::Two))]", InferredKind.RUNTIME),
        ("#[cfg_attr(not(test), derive(::their_macros::Two))]", InferredKind.RUNTIME),
        ('#[cfg_attr(all(test, feature = "x"), derive(their_macros::Two), own(a = "b"))]', InferredKind.DEV),
    ],
)
def test_a_derive_under_a_condition_is_needed_under_it(attribute: str, kind: InferredKind) -> None:
    """`cfg_attr` says when."""
    files = {"Cargo.toml": CARGO, "src/lib.rs": f"{attribute}\npub struct A;\n"}
    (found,) = inferred("rust", files).dependencies
    assert (found.name, found.kind) == ("their-macros", kind)
