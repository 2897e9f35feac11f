"""A static struct-layout linter for C: layouts, placements and written rules about them."""

__version__ = "0.1.0"
