"""Facts that a Linux kernel states about itself: version, configuration, symbols."""
