"""Makes and checks releases."""
