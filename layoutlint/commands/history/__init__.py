"""One struct over several builds, and the commit behind a verdict (`bisect`): commands and formats."""
