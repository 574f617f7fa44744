"""Runs in a browser: pages made on this machine from run folders, which stay the truth."""
