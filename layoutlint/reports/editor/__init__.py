"""Texts that editors show at structs and fields: pages in Markdown, and short labels."""
