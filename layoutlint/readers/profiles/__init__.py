"""Reports of profilers to records: one module for each format. Nothing here knows a struct."""
