"""DWARF's types: members, names, places, and which are the same."""
