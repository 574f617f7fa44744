"""JavaScript and TypeScript, with npm and pnpm."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from groundup.languages.record import LanguageRecord

if TYPE_CHECKING:
    from groundup.manifests.sections import ManifestFormat


def _formats() -> "Sequence[ManifestFormat]":
    from groundup.languages.javascript.package_json import PackageJson
    from groundup.languages.javascript.pnpm_workspace import PnpmWorkspace

    return (
        PackageJson(),
        PnpmWorkspace(),
    )


LANGUAGE = LanguageRecord(
    name="JavaScript",
    suffixes=(".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte"),
    registry="npm",
    installer="npm",
    lock_files=(
        "package-lock.json",
        "npm-shrinkwrap.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "bun.lock",
        "bun.lockb",
        "deno.lock",
        "shrinkwrap.yaml",
        ".pnp.cjs",
        ".pnp.js",
        ".pnp.data.json",
    ),
    installed_folders=("node_modules", "bower_components"),
    telltales=("bower.json", "lerna.json", "renovate.json", ".ncurc*"),
    sdk="Node.js",
    version_keys=("node", "version"),
    imports="""
(import_statement) @statement
(export_statement source: (string)) @statement
(call_expression function: (import)) @call
(call_expression function: (identifier) @function (#eq? @function "require")) @call
""",
    programs="node|npm|npx|yarn|pnpm|corepack|nvm",
    setup_actions="setup-node",
    setup_inputs=("node-version",),
    toolchain="node",
    program="node",
    install="install Node.js with npm and put `node` on PATH",
    formats=_formats,
    also_called=("typescript",),
    also_read=(".scss", ".sass", ".less"),
    grammars={".tsx": "tsx", **dict.fromkeys((".ts", ".mts", ".cts", ".vue", ".svelte"), "typescript")},
    test_pattern=r"^[ \t]*(?:it|test)(?:\.\w+)*[ \t]*\(",
)
