"""Rule files, case files and matrix files."""
