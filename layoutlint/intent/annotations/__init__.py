"""Annotations of C text and debug information, as rules."""
