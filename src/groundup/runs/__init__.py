"""Plan, schedule, grade, resume and regrade attempts. Knows no benchmark by name."""
