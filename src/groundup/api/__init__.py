"""The Python API. `import groundup` offers its names; the command line calls the same functions and prints."""
