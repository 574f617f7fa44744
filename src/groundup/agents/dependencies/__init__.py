"""Three ways of asking for the dependencies of a repository: by its whole code, its imports, or file by file."""
