"""Readers of rules: rule files, annotations, comments, and the kernel's tables."""
