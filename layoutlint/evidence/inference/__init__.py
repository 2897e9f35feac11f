"""The uses of fields in sources: by which functions, how often, and which pairs may share a line."""
