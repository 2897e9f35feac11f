"""Recording of layouts."""
