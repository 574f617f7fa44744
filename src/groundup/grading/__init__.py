"""What suites share to judge submissions: the trusted test runner, its records and integrity checks."""
