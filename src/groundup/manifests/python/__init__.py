"""Python's manifests: pyproject.toml, setup.py, setup.cfg, requirements files, Pipfile, environment.yml."""
