"""The language server: what editors ask about C files and rule files, answered from the last good layouts."""
