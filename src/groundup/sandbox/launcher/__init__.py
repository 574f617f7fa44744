"""The launcher: a small process beside groundup that starts sandboxes, watches them and cleans up after them.

It uses the standard library only and has one thread, because a sandbox dies with the thread that started it.
When groundup is gone, however it ended, the launcher ends all sandboxes, removes what they left, and exits.
"""
