"""Geometry that follows from facts: layouts, gaps, containers, allocators, placements."""
