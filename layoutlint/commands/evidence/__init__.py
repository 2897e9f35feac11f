"""What profiles say of rules and structs: the command, its run and its formats."""
