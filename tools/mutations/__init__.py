"""Mutations: small changes of the code, which tests should notice."""

PACKAGES = ("kinds", "geometry", "lint", "readers", "sources")
"""The packages of layoutlint that are changed."""
