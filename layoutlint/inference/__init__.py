"""What sources say about the use of fields: who uses which, how often, and which pairs may meet on a line."""
