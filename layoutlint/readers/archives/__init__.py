"""Archives as inputs: packages, tarballs and static libraries, read like folders (docs/inputs.md)."""
