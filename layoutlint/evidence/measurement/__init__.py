"""Measurements: what accesses cost on this machine, at the offsets and bases of a struct."""
