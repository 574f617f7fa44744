"""DI-Bench: infer the dependencies of real repositories in four languages."""
