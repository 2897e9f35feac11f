"""Calls in C source that allocate objects."""
