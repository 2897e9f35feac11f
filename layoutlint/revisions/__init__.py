"""Commits, staged changes and patches, as trees of files."""
