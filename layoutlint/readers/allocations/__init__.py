"""Calls that allocate objects, found in C text."""
