"""Making a recipe for a task: from its specification and the original's source to frozen ids.

One module per question: what the specification asks for, which source fits it, how the original is laid out, what
to install, why a test fails, what worthless submissions get, whether the environment gives the answer away.
"""
