"""Types in DWARF: their members, spellings and declarations, and numbers for equal types."""
