"""What the text of C sources shows on the use of fields and arrays, without a parser.

`functions` finds functions and their calls. `field_uses` tells which fields are changed together.
`element_owners` tells of which arrays threads write elements of their own: by the writes
(`element_writes`), and by the values that tell threads apart (`thread_values`).
"""
