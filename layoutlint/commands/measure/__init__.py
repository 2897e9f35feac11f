"""What accesses cost on this machine: the command, its program and its formats."""
