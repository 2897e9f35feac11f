"""Builds of one rich source, in every way that compilers and tools offer, and what the compilers say of it."""
