"""What a rule or a kind of rule means: the command and its texts."""
