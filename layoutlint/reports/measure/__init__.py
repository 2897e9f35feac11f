"""One module per format of `layoutlint measure`."""
