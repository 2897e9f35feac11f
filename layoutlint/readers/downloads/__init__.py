"""Inputs from servers: debug information by build id (docs/inputs.md)."""
