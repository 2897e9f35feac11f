"""What all functions of an input do together: calls that are followed, locks that are held, threads, heat."""
