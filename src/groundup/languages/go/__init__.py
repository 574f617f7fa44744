"""Go and its modules: no more than services of RepoGenesis in it ask for."""

from groundup.languages.record import LanguageRecord

LANGUAGE = LanguageRecord(
    name="Go",
    suffixes=(".go",),
    registry="go",
    installer="go",
    also_called=("golang",),
    sdk="Go",
    toolchain="go",
    program="go",
    install="install Go and put `go` on PATH",
)
