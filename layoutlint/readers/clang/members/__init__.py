"""Moving the declarations of a struct's members in C text, with their comments and attributes."""

from layoutlint.readers.clang.members.additions import add_attribute, add_before, add_member
from layoutlint.readers.clang.members.outline import Outline, outlines
from layoutlint.readers.clang.members.patch import split_lines, unified_diff
from layoutlint.readers.clang.members.pieces import CannotMove
from layoutlint.readers.clang.members.reorder import (
    MemberText,
    conditional_lines,
    reorder_members,
    restrictions,
    split_members,
)
from layoutlint.readers.clang.members.reread import (
    find_pragma,
    kernel_roots,
    source_path,
    verify,
)
from layoutlint.readers.clang.members.restrictions import Restriction

__all__ = [
    "CannotMove",
    "MemberText",
    "Outline",
    "Restriction",
    "add_attribute",
    "add_before",
    "add_member",
    "conditional_lines",
    "find_pragma",
    "kernel_roots",
    "outlines",
    "reorder_members",
    "restrictions",
    "source_path",
    "split_lines",
    "split_members",
    "unified_diff",
    "verify",
]
