"""The store of surveys: its tables, and what can be asked of them."""
