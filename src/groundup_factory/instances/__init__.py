"""From a repository to an instance of DI-Bench: the job that tests it, the mask, the proof."""
