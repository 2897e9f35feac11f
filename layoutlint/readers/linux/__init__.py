"""What a Linux kernel tells of itself: version, configuration, symbols."""
