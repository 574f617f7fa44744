"""Whether a count of passed tests is to be believed: false forms of tests, and tests with fresh inputs."""
