"""What the functions of a program show on structs: meetings of accesses, their weight, and guesses."""
