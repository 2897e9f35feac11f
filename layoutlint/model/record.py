"""Records: classes of named, typed values.

msgspec makes a class forty times faster than `dataclasses`, which compiles the methods of each from text; one
run of `check` has more than a hundred. Its `Struct` has another name here, where a struct is C's.
"""

from msgspec import Struct as Record
from msgspec import field
from msgspec.structs import replace

__all__ = ["Record", "field", "replace"]
