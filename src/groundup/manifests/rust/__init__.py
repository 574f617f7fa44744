"""Rust: Cargo.toml, by span."""
