"""The encoding of DWARF: sections, units, abbreviations, forms."""
