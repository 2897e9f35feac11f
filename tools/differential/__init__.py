"""Random structs, compiled, and every verdict on them held against what the compiled code says (see __main__)."""
