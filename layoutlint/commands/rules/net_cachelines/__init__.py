"""The kernel's tables of networking fields, as rules."""
