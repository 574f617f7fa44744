"""External command-line agents: any program, run in the sandbox of an attempt, with a model on its loopback."""
