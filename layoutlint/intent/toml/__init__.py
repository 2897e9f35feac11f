"""Readers of rule files, case files and matrix files."""
