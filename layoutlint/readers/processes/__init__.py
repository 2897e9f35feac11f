"""Processes: parallel work in forks, work in a sandbox, and other programs."""
