"""What shows that a layout costs time: the uses of fields in sources, and measurements."""
