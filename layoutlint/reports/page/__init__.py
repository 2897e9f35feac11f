"""The page that `--html` writes: one file with its data, styles and script, which needs no network."""
