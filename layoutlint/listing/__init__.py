"""What `show` and `containers` list, and nothing judges."""
