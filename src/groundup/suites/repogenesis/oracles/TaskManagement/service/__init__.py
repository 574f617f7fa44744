"""Tasks with a status and a priority: the reference service of the task TaskManagement."""
