"""One module per format of `layoutlint rules test`."""
