"""Run folders: layout, append-only records, atomic writes. The only owner of the disk format."""
