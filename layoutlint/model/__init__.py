"""Facts: structs, fields, targets, readings, and what is asked for."""
