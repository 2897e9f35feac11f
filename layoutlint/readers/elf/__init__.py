"""ELF files, bounded and checked."""
