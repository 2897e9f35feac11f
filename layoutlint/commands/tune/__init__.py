"""From a profile to a patch with a measured gain: the command, its run and its formats."""
