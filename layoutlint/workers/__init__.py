"""Processes with limits: forks, work in a sandbox, other programs, and tasks on other machines."""
