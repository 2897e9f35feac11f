"""One module per format of `layoutlint allocations`."""
