"""The words for languages, registries and toolchains in records. `groundup.languages` has the facts of each."""

from typing import Literal

DependencyLanguage = Literal["python", "rust", "javascript", "csharp"]
"""The languages whose manifests and imports are understood."""
RegistryKind = Literal["pypi", "npm", "crates", "nuget", "maven", "go"]
ToolchainName = Literal["node", "rust", "dotnet", "go"]
"""Toolchains of the host that sandboxes can be given. Python and Java have builders of their own."""
ServiceToolchain = Literal["node", "go"]
"""By which a service can be asked for in another language than its task's."""
SetupKind = Literal["python", ToolchainName]
"""What CI jobs set up."""
