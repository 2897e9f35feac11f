"""Processes that read side by side, or apart from this one."""
