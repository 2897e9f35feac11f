"""Results of earlier runs, kept as long as the files that they come from are the same (docs/inputs.md)."""
