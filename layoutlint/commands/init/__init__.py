"""The first rules of a project, and the files that run them."""
