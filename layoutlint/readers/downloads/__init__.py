"""Inputs from servers: debug information by build id, and files by URL (docs/downloads.md)."""
