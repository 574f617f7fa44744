"""Tests of grading on other machines."""
