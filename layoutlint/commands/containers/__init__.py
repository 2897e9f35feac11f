"""The structs that hold a struct: the command and its formats."""
