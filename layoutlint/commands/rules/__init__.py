"""The commands on rules: lists, cases that try them, assertions, and imports."""
