"""One module per format of `layoutlint show`."""
