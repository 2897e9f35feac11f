"""Where intent is written besides rule files: in structs themselves, and in the kernel's documentation."""
