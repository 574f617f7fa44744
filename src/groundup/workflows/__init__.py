"""GitHub Actions workflows: expressions, matrix, commands, and which steps run tests."""
