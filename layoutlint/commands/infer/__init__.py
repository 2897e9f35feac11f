"""What functions do to fields (`accesses`), and what suffers from it (`infer`): commands and formats."""
