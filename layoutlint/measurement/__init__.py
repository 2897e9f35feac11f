"""Arrangements of a struct, and the words of it that cores access in a measurement."""
