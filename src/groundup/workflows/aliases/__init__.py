"""What a project's own names stand for: scripts of packages, targets of Makefiles, environments of tox..."""
