"""Where intent is written besides rule files: marks in structs, and tables of the kernel's documentation."""
