"""Folders of kernel modules."""
