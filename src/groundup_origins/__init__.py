"""Which line of a submission probably lost a test: guesses for people, which decide nothing."""
