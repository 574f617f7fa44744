"""The nouns of groundup: frozen records, identifiers, digests and errors. No I/O."""
