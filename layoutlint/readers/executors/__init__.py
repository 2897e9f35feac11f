"""Runs many tasks, each in a process with limits, on this machine or on others."""
