"""The shipped packs of rules, as package data (`layoutlint.rulepacks`)."""
