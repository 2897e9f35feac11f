"""The words of judging: rules, verdicts, findings, reports."""
