"""A run: inputs are read, rules are applied, and a report comes out."""
