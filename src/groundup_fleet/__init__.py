"""Grading on other machines: a run's driver hands submissions to nodes by way of a Dask scheduler."""
