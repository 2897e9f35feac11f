"""Numbers of DWARF's attributes, tags, forms and unit types (DWARF 5, sections 7.5.1 to 7.5.6, and GNU's).

Only those that layoutlint uses. pyelftools has all of them, and the tests compare the two, but importing its
parsers takes longer than reading a small file.
"""

from __future__ import annotations

from typing import Final

ATTRIBUTES: Final = {
    "sibling": 0x01, "location": 0x02, "name": 0x03, "byte_size": 0x0B, "bit_offset": 0x0C, "bit_size": 0x0D,
    "low_pc": 0x11, "high_pc": 0x12, "ranges": 0x55,
    "stmt_list": 0x10, "language": 0x13, "import": 0x18, "comp_dir": 0x1B, "const_value": 0x1C,
    "lower_bound": 0x22, "producer": 0x25, "prototyped": 0x27, "upper_bound": 0x2F, "abstract_origin": 0x31,
    "count": 0x37, "data_member_location": 0x38, "decl_column": 0x39, "decl_file": 0x3A, "decl_line": 0x3B,
    "declaration": 0x3C, "encoding": 0x3E, "external": 0x3F, "specification": 0x47, "type": 0x49,
    "signature": 0x69, "data_bit_offset": 0x6B,
    "str_offsets_base": 0x72, "addr_base": 0x73, "rnglists_base": 0x74, "dwo_name": 0x76,
    "alignment": 0x88, "GNU_vector": 0x2107, "GNU_dwo_name": 0x2130, "GNU_dwo_id": 0x2131,
    "GNU_addr_base": 0x2133,
}  # fmt: skip

TAGS: Final = {
    "array_type": 0x01, "class_type": 0x02, "enumeration_type": 0x04, "formal_parameter": 0x05,
    "lexical_block": 0x0B, "member": 0x0D, "pointer_type": 0x0F, "reference_type": 0x10, "compile_unit": 0x11,
    "structure_type": 0x13, "subroutine_type": 0x15, "typedef": 0x16, "union_type": 0x17,
    "unspecified_parameters": 0x18, "variant": 0x19, "inheritance": 0x1C, "ptr_to_member_type": 0x1F,
    "subrange_type": 0x21, "base_type": 0x24, "const_type": 0x26, "enumerator": 0x28, "subprogram": 0x2E,
    "variant_part": 0x33, "variable": 0x34, "volatile_type": 0x35, "restrict_type": 0x37,
    "unspecified_type": 0x3B, "partial_unit": 0x3C, "imported_unit": 0x3D, "shared_type": 0x40,
    "rvalue_reference_type": 0x42, "atomic_type": 0x47, "immutable_type": 0x4B, "TI_far_type": 0x4080,
    "TI_near_type": 0x4081, "TI_ioport_type": 0x4083, "TI_restrict_type": 0x4084, "TI_onchip_type": 0x4085,
    "LLVM_ptrauth_type": 0x4300,
}  # fmt: skip

FORMS: Final = {
    "addr": 0x01, "block2": 0x03, "block4": 0x04, "data2": 0x05, "data4": 0x06, "data8": 0x07, "string": 0x08,
    "block": 0x09, "block1": 0x0A, "data1": 0x0B, "flag": 0x0C, "sdata": 0x0D, "strp": 0x0E, "udata": 0x0F,
    "ref_addr": 0x10, "ref1": 0x11, "ref2": 0x12, "ref4": 0x13, "ref8": 0x14, "ref_udata": 0x15,
    "indirect": 0x16, "sec_offset": 0x17, "exprloc": 0x18, "flag_present": 0x19, "strx": 0x1A, "addrx": 0x1B,
    "ref_sup4": 0x1C, "strp_sup": 0x1D, "data16": 0x1E, "line_strp": 0x1F, "ref_sig8": 0x20,
    "implicit_const": 0x21, "loclistx": 0x22, "rnglistx": 0x23, "ref_sup8": 0x24, "strx1": 0x25,
    "strx2": 0x26, "strx3": 0x27, "strx4": 0x28, "addrx1": 0x29, "addrx2": 0x2A, "addrx3": 0x2B,
    "addrx4": 0x2C, "GNU_addr_index": 0x1F01, "GNU_str_index": 0x1F02, "GNU_ref_alt": 0x1F20,
    "GNU_strp_alt": 0x1F21, "LLVM_addrx_offset": 0x2001,
}  # fmt: skip

UNITS: Final = {
    "compile": 0x01, "type": 0x02, "partial": 0x03, "skeleton": 0x04, "split_compile": 0x05,
    "split_type": 0x06, "lo_user": 0x80, "hi_user": 0xFF,
}  # fmt: skip


def attribute(name: str) -> int:
    """Return the number of `DW_AT_name`."""
    return ATTRIBUTES[name]


def tag(name: str) -> int:
    """Return the number of `DW_TAG_name`."""
    return TAGS[name]


def form(name: str) -> int:
    """Return the number of `DW_FORM_name`."""
    return FORMS[name]
