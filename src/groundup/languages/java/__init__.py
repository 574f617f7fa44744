"""Java and Maven: no more than RepoGenesis asks of it."""

from groundup.languages.record import LanguageRecord

LANGUAGE = LanguageRecord(name="Java", suffixes=(".java",), registry="maven", installer="Maven")
