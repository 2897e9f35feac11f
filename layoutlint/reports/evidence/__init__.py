"""One module per format of `layoutlint evidence`."""
