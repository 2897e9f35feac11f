"""Orders of members, and smaller structs: the command, what only it searches, and its formats."""
