"""Reading C text as GCC does: the macros that tell it from clang, and its answers to `__has_attribute`.

libclang takes most of GCC's language, so only what GCC calls itself has to change. The answers are those of
GCC 9 to 16, and before that of the manuals.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import translate
from functools import cache

from layoutlint.readers.clang.build_compiler import Compiler
from layoutlint.readers.clang.compiler_answer import ANNOTATING, SHOWING

Version = tuple[int, ...]

STAND_IN: Version = (13, 3, 0)
"""The version of a GCC whose name has none (docs/inputs.md): the last that does not define `__has_feature`,
which makes it differ most from clang."""
OLDEST: Version = (4, 8, 5)
"""The oldest version that one without a number in its name is taken for."""
NEWEST: Version = (16, 1, 0)
_LAST_MINOR = 5
"""The highest minor number of a version in maintenance: 5 of GCC 11 and of those before it."""
NAMES = (
    "__clang__", "__clang_major__", "__clang_minor__", "__clang_patchlevel__", "__clang_version__",
    "__llvm__", "__clang_literal_encoding__", "__clang_wide_literal_encoding__",
)  # fmt: skip
"""Macros that only clang defines."""
BYTE_ORDERS = ("__LITTLE_ENDIAN__", "__BIG_ENDIAN__")
"""Macros of clang, which GCC has for PowerPC only."""
VERSION_NAMES = ("__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__", "__VERSION__")
_QUESTIONS = {
    (5,): ("__has_attribute", "__has_cpp_attribute"),
    (10,): ("__has_builtin",),
    (11,): ("__has_c_attribute",),
    (14,): ("__has_feature", "__has_extension"),
}
"""The macros that take a question, by the version of GCC since which it defines them."""
QUESTIONS = tuple(name for names in _QUESTIONS.values() for name in names)
ANSWERED = ("__has_attribute", "__has_builtin")
"""Those of them that a GCC answers by itself; the others are libclang's unless a struct depends on them."""
_PREFIX = "layoutlint"
_BINARY128 = re.compile(r"(?:aarch64|arm64|mips64|s390|riscv|sparc64|loongarch64)")
"""Machines whose `long double` has 128 bits for GCC."""
_POWER = re.compile(r"ppc|powerpc")
_X87 = re.compile(r"(?:x86_64|amd64|i[3-9]86)")

_ATTRIBUTES = {
    0: " ".join(ANNOTATING),
    5: "packed aligned vector_size mode noinline noreturn unused used weak alias section deprecated format"
    " format_arg nonnull pure const malloc warn_unused_result may_alias transparent_union cleanup constructor"
    " destructor visibility always_inline gnu_inline flatten hot cold artificial error warning returns_twice"
    " no_instrument_function no_sanitize_address no_sanitize_thread returns_nonnull sentinel nothrow leaf"
    " tls_model alloc_size alloc_align assume_aligned nocommon common weakref no_address_safety_analysis"
    " externally_visible noclone optimize designated_init no_sanitize_undefined",
    6: "scalar_storage_order simd target_clones",
    7: "fallthrough no_profile_instrument_function",
    8: "nonstring warn_if_not_aligned no_sanitize nocf_check patchable_function_entry noipa",
    9: "copy",
    10: "access symver",
    11: "retain no_stack_protector zero_call_used_regs",
    12: "unavailable uninitialized no_sanitize_coverage",
    13: "assume",
    14: "hardbool strub null_terminated_string_arg",
    15: "counted_by musttail flag_enum",
    16: "btf_type_tag",
}
"""Attributes for all machines, by the first version that has them."""
_X86_ATTRIBUTES = {
    5: "ms_struct gcc_struct regparm stdcall fastcall cdecl ms_abi sysv_abi thiscall force_align_arg_pointer",
    7: "no_caller_saved_registers interrupt",
    8: "naked indirect_branch function_return",
    9: "indirect_return",
    NEWEST[0] + 1: "model",
}
_NO_ATTRIBUTES = (
    "ext_vector_type overloadable enable_if diagnose_if pass_object_size diagnose_as_builtin"
    " guarded_by capability lockable availability objc_bridge swift_name minsize optnone nodebug"
    " nomerge not_tail_called disable_tail_calls internal_linkage loader_uninitialized"
    " preserve_access_index preserve_most preserve_all require_constant_initialization"
    " type_tag_for_datatype enforce_tcb enum_extensibility consumable callable_when blocks"
    " acquire_capability analyzer_noreturn cf_consumed no_builtin convergent no_destroy standalone_debug"
    " neon_vector_type no_thread_safety_analysis matrix_type address_space noderef randomize_layout"
    " no_randomize_layout disable_sanitizer_instrumentation pass_dynamic_object_size argument_with_type_tag"
    " trivial_abi"
)
"""Attributes of clang that no version has."""
_BUILTINS = {
    10: "expect constant_p types_compatible_p choose_expr offsetof unreachable trap clz clzl clzll ctz ctzl"
    " ctzll ffs ffsl ffsll popcount popcountl popcountll parity bswap16 bswap32 bswap64 add_overflow"
    " sub_overflow mul_overflow uadd_overflow umull_overflow smul_overflow sadd_overflow memcpy memset memcmp"
    " strlen prefetch assume_aligned object_size alloca alloca_with_align return_address frame_address"
    " extract_return_addr huge_val inf nan isnan isinf isfinite signbit fabs sqrt FILE LINE FUNCTION"
    " convertvector expect_with_probability classify_type stpcpy va_start strncpy strcmp abs sprintf"
    " isdigit ssub_overflow has_attribute",
    12: "dynamic_object_size shufflevector",
    14: "popcountg clzg ctzg",
    15: "counted_by_ref",
}
"""Functions for all machines, without `__builtin_`, by the first version that has them."""
_NO_BUILTINS = (
    "assume available bitreverse8 bitreverse16 bitreverse32 bitreverse64 rotateleft8 rotateleft16"
    " rotateleft32 rotateleft64 rotateright32 rotateright64 readcyclecounter debugtrap unpredictable"
    " nontemporal_load nontemporal_store memcpy_inline elementwise_abs reduce_add alloca_uninitialized"
    " operator_new"
)
_FEATURES = "attribute_deprecated_with_message attribute_unavailable_with_message enumerator_attributes tls"
_EXTENSIONS = "c_generic_selections c_static_assert c_atomic c_alignas c_alignof c_thread_local"
"""What GCC has since 14; of C11, older standards have it as an extension."""
_NO_FEATURES = (
    "modules blocks objc_arc safe_stack shadow_call_stack kcfi cxx_static_assert cxx_rvalue_references"
    " matrix_types"
)
"""What neither GCC nor libclang has in C without an option for it."""
_FEATURES_OF_CLANG = (
    "attribute_ext_vector_type attribute_overloadable attribute_analyzer_noreturn nullability"
)
"""What GCC has not, without an option that is known here (c-family/c-common.cc, hf_feature_info)."""


def version_of(compiler: Compiler) -> Version:
    """Return the version as which a GCC is read."""
    return (*compiler.version, *STAND_IN[len(compiler.version) :]) if compiler.version else STAND_IN


def versions_of(compiler: Compiler) -> tuple[Version, ...]:
    """Return the first and last version that a GCC can be, and those between that tests can tell apart; none
    if its name states all that counts.
    """
    match compiler.version:
        case ():
            return OLDEST, NEWEST, *((major, 1, 0) for major in range(OLDEST[0] + 1, NEWEST[0]))
        case (major,):
            return (major, 0, 0), (major, _LAST_MINOR if major > 4 else 9, 4)
        case (_, _):
            return (*compiler.version, 0), (*compiler.version, 4)
    return ()


def flags_of(compiler: Compiler | None, machine: str) -> tuple[str, ...]:
    """Return the flags under which libclang takes itself for a compiler; none if that is not GCC."""
    if compiler is None or not compiler.is_gcc or compiler.answer is not None:
        return ()  # its answer has its macros
    return flags(version_of(compiler), machine)


def flags(version: Version, machine: str) -> tuple[str, ...]:
    """Return the flags under which libclang takes itself for GCC."""
    full = (*version, 0, 0)[:3]
    text = ".".join(map(str, full))
    absent = (*absent_questions(full), *_absent_names(full, machine))
    is_x86 = _X87.match(machine) is not None
    types = _float_types(machine) if full >= (7,) else ()
    processor = re.match(r"i[3456]86(?=-)", machine)
    return (
        *(() if processor is None else (f"-march={processor[0]}",)),  # clang has SSE2 by default
        f"-fgnuc-version={text}",
        f'-D__VERSION__="{text}"',
        *(f"-U{name}" for name in (*NAMES, *absent)),
        *(
            word
            for question in ANSWERED
            if question not in absent
            for word in _answer_flags(question, full, is_x86)
        ),
        *(f"-D{name}={ctype}" for name, ctype in (*types, *_own_names(machine))),
        *(SHOWING if "__has_attribute" in absent else ()),
    )


def _absent_names(version: Version, machine: str) -> Iterator[str]:
    """Yield macros of libclang that a GCC does not define."""
    yield "__POINTER_WIDTH__"
    if not _POWER.match(machine):
        yield from (*BYTE_ORDERS, "__FLOAT128__")
    if machine.startswith(("arm", "thumb", "mips", "riscv", "powerpc")) and "64" not in machine:
        yield from ("_ILP32", "__ILP32__")
    if version < (14,):
        yield "__BITINT_MAXWIDTH__"


def _own_names(machine: str) -> Iterator[tuple[str, str]]:
    """Yield macros that only GCC defines, with their values."""
    yield from (("__FLOAT_WORD_ORDER__", "__BYTE_ORDER__"), ("__SIG_ATOMIC_TYPE__", "int"))
    yield from (("__SCHAR_WIDTH__", "8"), ("__LONG_LONG_WIDTH__", "64"))
    if _POWER.match(machine):
        yield "__powerpc", "1"
        yield from [("__FLOAT128__", "1")] if "64le" in machine else ()
    if _X87.match(machine):
        yield "__SIZEOF_FLOAT80__", "12" if machine.startswith("i") else "16"


@cache
def _answer_flags(question: str, version: Version, is_x86: bool) -> tuple[str, ...]:
    """Return the flags that answer a question as one version does."""
    names = [
        name for (asked, name), since in _answers(is_x86).items() if asked == question and since <= version[0]
    ]
    spelled = [*names, *(f"__{name}__" for name in names if not name.startswith("__"))]
    answers = (f"-D{answer_macro(question, name)}=1" for name in spelled)
    return (f"-D{question}(x)={answer_macro(question, '##x')}", *answers)


def answer_macro(question: str, name: str) -> str:
    """Return the macro whose value is the answer to a question."""
    return f"{_PREFIX}{question}_{name}"


def _float_types(machine: str) -> Iterator[tuple[str, str]]:
    """Yield the keywords for floating types that libclang has not, and the types that they are."""
    yield from (("_Float32", "float"), ("_Float64", "double"), ("_Float32x", "double"))
    if _BINARY128.match(machine):
        yield from (("_Float64x", "long double"), ("_Float128", "long double"))
    elif _X87.match(machine):
        yield from (("_Float64x", "long double"), ("_Float128", "__float128"))


def absent_questions(version: Version) -> tuple[str, ...]:
    """Return the macros of QUESTIONS that a version does not define."""
    return tuple(name for name in QUESTIONS if not _is_defined(name, version))


@cache
def _names_for(machine: str) -> re.Pattern[str]:
    with open(os.path.join(os.path.dirname(__file__), "predefined_names.txt"), encoding="ascii") as file:
        words = " ".join(line for line in file if not line.startswith("#")).split()
    patterns, is_own = list[str](), False
    for word in words:
        if word[0] in "(." or word.isalnum():
            is_own = re.match(word, machine) is not None
        elif is_own:
            patterns.append(translate(word))
    return re.compile("|".join(patterns))


@cache
def is_predefined_otherwise(name: str, machine: str) -> bool:
    """Return whether a GCC for a machine may predefine a macro where libclang, reading as it, does not, or
    the reverse.
    """
    return _names_for(machine).match(name) is not None


def is_exact(question: str, name: str, version: Version) -> bool:
    """Return whether libclang, taking itself for a GCC, gives its answer to a question if that is known."""
    is_absent = question == "__has_feature" and name in _NO_FEATURES.split()
    return is_absent or question in ANSWERED or not _is_defined(question, version)


def _is_defined(question: str, version: Version) -> bool:
    """Return whether GCC defines a question; a macro with a name like it is no question."""
    return any(since <= version for since, names in _QUESTIONS.items() if question in names)


def answer(question: str, name: str, version: Version, machine: str) -> bool | None:
    """Return what GCC says to a question such as `__has_attribute(packed)`; None if it is not known."""
    if not _is_defined(question, version):
        return False
    since = _answers(_X87.match(machine) is not None).get(
        (question, re.sub(r"^__(?!builtin_)(\w+)__$", r"\1", name))
    )
    return None if since is None else since <= version[0]


def known_questions(machine: str) -> tuple[tuple[str, str], ...]:
    """Return the questions that are answered as GCC does."""
    answers = _answers(_X87.match(machine) is not None)
    return tuple(question for question, since in answers.items() if since)


@cache
def _answers(is_x86: bool) -> dict[tuple[str, str], int]:
    """The first version that says yes to a question; a number above all versions if none does."""
    never = NEWEST[0] + 1
    attributes = [*_ATTRIBUTES.items(), *(_X86_ATTRIBUTES.items() if is_x86 else ())]
    answers = {("__has_attribute", name): since for since, names in attributes for name in names.split()}
    answers |= {("__has_attribute", name): never for name in _NO_ATTRIBUTES.split()}
    for since, names in _BUILTINS.items():
        answers |= {("__has_builtin", f"__builtin_{name}"): since for name in names.split()}
    answers |= {("__has_builtin", f"__builtin_{name}"): never for name in _NO_BUILTINS.split()}
    if is_x86:
        answers["__has_builtin", "__builtin_thread_pointer"] = 10
    for question in ("__has_feature", "__has_extension"):
        lacking = f"{_NO_FEATURES} {_FEATURES_OF_CLANG}"
        answers |= {(question, name): never for name in lacking.split()}
        answers |= {(question, name): 14 for name in _FEATURES.split()}
    answers |= {("__has_extension", name): 14 for name in _EXTENSIONS.split()}
    return answers
