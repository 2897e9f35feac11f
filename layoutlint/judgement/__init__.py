"""Rules, kinds, verdicts, findings and reports."""
