"""Searches an order of a struct's members that keeps its rules."""
