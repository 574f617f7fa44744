"""From a repository that serves HTTP to a task: how it starts, what it offers, tests of that, and their proof."""
