"""The calls that allocate objects: the command and its formats."""
