"""Where intent is written besides rule files: in the sources, and in the documentation of the kernel."""
