"""Surveys: many inputs read and judged by tasks of their own, whose rows are kept in a store."""
