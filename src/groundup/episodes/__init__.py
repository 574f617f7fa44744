"""The life of one attempt: open, act, submit, grade, close. Knows no run folder, no lock, no console."""
