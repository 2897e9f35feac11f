"""Orders of members that keep the rules of a struct: from the struct to its changed text."""
