"""Structs that depend on which compiler builds them: read as each that it can be.

A struct that is the same for all is known. If the compiler is not known, and layouts differ, a struct keeps
them all: a rule on which all agree is judged. Of a GCC that is not known well enough, it is unknown.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Struct
from layoutlint.readers.clang import cross_target, gcc_macros, libclang
from layoutlint.readers.clang.build_compiler import Compiler
from layoutlint.readers.clang.conditions import Macros
from layoutlint.readers.clang.dependence import UNANSWERABLE, Dependence, Node
from layoutlint.readers.clang.gcc_macros import Version
from layoutlint.readers.clang.libclang import Cursor
from layoutlint.readers.clang.trust import Problems

if TYPE_CHECKING:
    from layoutlint.readers.clang.parse import ParsedUnit, Unit

_MOST_QUESTIONS = 3
"""The most questions without a known answer for which all answers are tried."""
_REMEDY = "`--query-driver '/usr/bin/*gcc*'`"
_NAME_REMEDY = ", or a database that names `gcc-12`"

_CLANG: Macros = (
    ("__GNUC__", 4), ("__GNUC_MINOR__", 2), ("__GNUC_PATCHLEVEL__", 1), ("__clang__", 1), ("__llvm__", 1),
    ("__clang_minor__", 1), ("__clang_patchlevel__", 1), ("__clang_version__", 1),
    ("__clang_literal_encoding__", 1), ("__clang_wide_literal_encoding__", 1), ("__VERSION__", 1),
)  # fmt: skip
"""What libclang takes itself for, apart from its version."""
Question = tuple[str, str]
"""`__has_attribute` and `packed`."""


class Dependent(Record, frozen=True):
    """A struct that compilers may lay out differently."""

    struct: Struct
    words: frozenset[str]
    """The macros that it depends on."""
    questions: frozenset[Question]


def find_dependent(
    lib: Any, handle: int, unit: Unit, problems: Problems, requested: list[tuple[Cursor, Struct]]
) -> tuple[tuple[Dependent, ...], tuple[str, ...]]:
    """Return the requested structs of a parsed unit that depend on what tells its compiler from libclang, and
    the files that were read to find them.
    """
    words = _differing_words(unit)
    if words is None or not requested:
        return (), ()
    folders = tuple(word[2:] for word in unit.flags if word.startswith("-I") and len(word) > 2)
    search = Dependence(
        lib, handle, unit.main, folders, words, _compilers(lib, unit), _unmodelled_test(unit)
    )
    asked = search.questions()
    search.questioned = asked - _exact_questions(unit, asked)
    if not search.may_differ():
        return (), tuple(search.unkept)
    declarations = [problems.dependencies.all_of(record) for record, _ in requested]
    reached = search.roots_of(declarations)
    questions = {_question(node) for roots in reached for node in roots if node[0] == "call"}
    agreed = _agreeing(lib, unit, questions)
    found = []
    for (_, struct), roots in zip(requested, reached, strict=True):
        own = frozenset(_question(node) for node in roots if node[0] == "call") - agreed
        names = frozenset(_text(node[1]) for node in roots if node[0] != "call")
        if own or names:
            found.append(Dependent(struct, names, own))
    return tuple(found), tuple(search.unkept)


def _text(word: object) -> str:
    assert isinstance(word, bytes)
    return word.decode("ascii", "replace")


def _question(node: Node) -> Question:
    return _text(node[1]), _text(node[2])


def _differing_words(unit: Unit) -> frozenset[bytes] | None:
    """Return the macros whose values are not certain; None if libclang has those of the build."""
    compiler = unit.compiler
    if compiler is not None and (compiler.family == "clang" or compiler.answer is not None):
        return None
    names: tuple[str, ...]
    if compiler is None or compiler.family is None:
        absent = gcc_macros.absent_questions(gcc_macros.STAND_IN)
        names = (*gcc_macros.NAMES, *gcc_macros.BYTE_ORDERS, *gcc_macros.VERSION_NAMES, *absent)
    elif not compiler.version:
        names = (*gcc_macros.VERSION_NAMES, *gcc_macros.QUESTIONS)
    else:
        names = gcc_macros.VERSION_NAMES[len(compiler.version) :]
    return frozenset(name.encode() for name in names)


def _unmodelled_test(unit: Unit) -> Callable[[str], bool]:
    """Return a function that returns whether a GCC may predefine a macro where libclang does not, or the
    reverse, and no flag states it.
    """
    machine = _machine(unit)
    stated = {word.removeprefix("-D").removeprefix("-U").partition("=")[0] for word in unit.flags}
    return lambda name: gcc_macros.is_predefined_otherwise(name, machine) and name not in stated


def _compilers(lib: Any, unit: Unit) -> tuple[Macros, ...]:
    """Return the macros of all compilers that can build a unit."""
    compiler = unit.compiler
    if compiler is None or not compiler.is_gcc:
        questions = ((name, 1) for name in gcc_macros.QUESTIONS)
        orders = ((name, 1) for name in gcc_macros.BYTE_ORDERS)
        clang = (*_CLANG, ("__clang_major__", libclang.version(lib)), *orders, *questions)
        return clang, _macros_of_gcc(gcc_macros.STAND_IN)
    versions = (gcc_macros.version_of(compiler), *gcc_macros.versions_of(compiler))
    return tuple(map(_macros_of_gcc, versions))


def _macros_of_gcc(version: Version) -> Macros:
    full = (*version, 0, 0)[:3]
    questions = set(gcc_macros.QUESTIONS).difference(gcc_macros.absent_questions(full))
    return (
        *zip(gcc_macros.VERSION_NAMES, full, strict=False), ("__VERSION__", 1),
        *((name, 1) for name in sorted(questions)),
    )  # fmt: skip


def _gcc_version(unit: Unit) -> Version:
    compiler = unit.compiler
    is_gcc = compiler is not None and compiler.is_gcc
    return gcc_macros.version_of(compiler) if compiler is not None and is_gcc else gcc_macros.STAND_IN


def _machine(unit: Unit) -> str:
    return cross_target.stated_triple(unit.flags) or os.uname().machine


def _exact_questions(unit: Unit, asked: set[tuple[bytes, bytes]]) -> set[tuple[bytes, bytes]]:
    """Return the questions that a unit read as GCC answers as its version does."""
    if unit.compiler is None or not unit.compiler.is_gcc:
        return set()
    version, machine = _gcc_version(unit), _machine(unit)
    own = {each for each in asked if gcc_macros.is_exact(_text(each[0]), _text(each[1]), version)}
    return {
        each
        for each in own
        if gcc_macros.answer(_text(each[0]), _text(each[1]), version, machine) is not None
    }


def _agreeing(lib: Any, unit: Unit, questions: set[Question]) -> set[Question]:
    """Return the questions to which libclang gives GCC's answer."""
    version, machine = _gcc_version(unit), _machine(unit)
    known = {each: gcc_macros.answer(*each, version, machine) for each in questions}
    asked = sorted(each for each, answer in known.items() if answer is not None)
    own = _answers_of_libclang(lib, unit, asked) if asked else {}
    return {each for each in asked if own[each] == known[each]}


def _answers_of_libclang(lib: Any, unit: Unit, questions: list[Question]) -> dict[Question, bool]:
    """Ask libclang questions about itself, for the target of a unit."""
    from layoutlint.readers.clang.parse import parse_unit

    text = "".join(
        f"#ifdef {macro}\n#if {macro}({name})\nstruct yes{number};\n#endif\n#endif\n"
        for number, (macro, name) in enumerate(questions)
    )
    target = cross_target.stated_triple(unit.flags)
    words = ("-xc", *(() if target is None else (f"--target={target}",)))
    main = os.path.join(unit.directory, "layoutlint-questions.c")
    asking = replace(unit, main=main, text=text, flags=words, replaced=())
    names: set[str] = set()

    def take(child: Cursor, _: Cursor) -> int:
        names.add(libclang.spelling(lib, child))
        return libclang.CONTINUE

    with parse_unit(lib, asking, None, libclang.PREFERRED_OPTIONS) as handle:
        libclang.visit(lib, lib.clang_getTranslationUnitCursor(handle), take)
    return {question: f"yes{number}" in names for number, question in enumerate(questions)}


def settle(parsed: ParsedUnit, read: Callable[[Unit], ParsedUnit]) -> ParsedUnit:
    """Return a unit with the structs that depend on the compiler as each lays them out."""
    dependent = parsed.dependent
    words = frozenset[str]().union(*(each.words for each in dependent))
    questions = frozenset[Question]().union(*(each.questions for each in dependent))
    variants = [
        (label, parsed if unit is parsed.unit else read(unit))
        for label, unit in _variants(parsed.unit, words, questions)
    ]
    by_struct = {each.struct: each for each in dependent}

    def settle_struct(struct: Struct, is_array: bool) -> Struct:
        if struct not in by_struct or struct.problem is not None:
            return struct
        others = [
            (label, _counterpart(struct, other.arrays if is_array else other.structs))
            for label, other in variants
        ]
        return _settle_one(struct, by_struct[struct], parsed.unit, others)

    return replace(
        parsed,
        structs=tuple(settle_struct(struct, False) for struct in parsed.structs),
        arrays=tuple(settle_struct(array, True) for array in parsed.arrays),
    )


def _variants(
    unit: Unit, words: frozenset[str], questions: frozenset[Question]
) -> Iterator[tuple[str, Unit]]:
    """Yield the ways to read a unit, the likeliest first; not the unit itself if it is one."""
    compiler = unit.compiler
    if compiler is None or not compiler.is_gcc:
        yield "clang", unit
        versions: tuple[Version, ...] = (gcc_macros.STAND_IN,)
    else:
        versions = (gcc_macros.version_of(compiler),)
        if words:
            versions = (*versions, *gcc_macros.versions_of(compiler))
    for version in versions:
        label = f"gcc {'.'.join(map(str, version[:2]))}"
        for answers in _answers(questions, version, _machine(unit)):
            yield label, as_gcc(unit, version, answers)


def _answers(
    questions: frozenset[Question], version: Version, machine: str
) -> Iterator[dict[Question, bool]]:
    """Yield GCC's answers to questions: all that it can give, if some are not known."""
    known = {each: gcc_macros.answer(*each, version, machine) for each in questions}
    unknown = sorted(each for each, answer in known.items() if answer is None)
    if len(unknown) > _MOST_QUESTIONS:
        unknown = []  # _settle_one refuses them
    for values in product((True, False), repeat=len(unknown)):
        yield {each: bool(answer) for each, answer in known.items()} | dict(zip(unknown, values, strict=True))


def as_gcc(unit: Unit, version: Version, answers: dict[Question, bool]) -> Unit:
    """Return a unit that is read as one version of GCC, which gives some answers."""
    machine = _machine(unit)
    own: tuple[str, ...] = ()
    if unit.compiler is not None and unit.compiler.is_gcc:
        own = gcc_macros.flags(gcc_macros.version_of(unit.compiler), machine)
    rest = unit.flags[len(own) :] if unit.flags[: len(own)] == own else unit.flags
    asked = sorted({macro for macro, _ in answers}.difference(gcc_macros.ANSWERED))
    asked = [macro for macro in asked if gcc_macros.answer(macro, "", version, machine) is None]
    named = unit.compiler or Compiler("gcc")
    return replace(
        unit,
        compiler=named if named.is_gcc else replace(named, family="gcc", version=version),
        flags=(
            *gcc_macros.flags(version, machine),
            *(f"-D{macro}(x)={gcc_macros.answer_macro(macro, '##x')}" for macro in asked),
            *(
                f"-U{gcc_macros.answer_macro(*each)}" if not yes else f"-D{gcc_macros.answer_macro(*each)}=1"
                for each, yes in sorted(answers.items())
            ),
            *(f"-D{gcc_macros.answer_macro('__has_feature', name)}=1" for name in _sanitizers(unit)),
            *rest,
        ),
    )


def _sanitizers(unit: Unit) -> Iterator[str]:
    for word in unit.flags:
        if word.startswith("-fsanitize="):
            yield f"{word.partition('=')[2].removeprefix('kernel-')}_sanitizer"


def _settle_one(
    struct: Struct, dependent: Dependent, unit: Unit, variants: list[tuple[str, Struct | None]]
) -> Struct:
    """Return a struct as all variants have it; else one with a problem."""
    version, machine = _gcc_version(unit), _machine(unit)
    unknown = [each for each in dependent.questions if gcc_macros.answer(*each, version, machine) is None]
    is_answerable = len(unknown) <= _MOST_QUESTIONS and all(
        name != _text(UNANSWERABLE) for _, name in unknown
    )
    is_answerable = is_answerable and not any(map(_unmodelled_test(unit), dependent.words))
    first = variants[0][1]
    layouts = dict(variants)
    distinct = list(dict.fromkeys(None if one is None else _shape(one) for _, one in variants))
    if is_answerable and len(distinct) == 1 and first is not None:
        return first
    macros = sorted({*dependent.words, *(f"{macro}({name})" for macro, name in dependent.questions)})
    reason = _reason(struct, macros, unit, layouts)
    is_open = unit.compiler is None or unit.compiler.family is None
    known = tuple(one for _, one in variants if one is not None)
    is_judged = is_open and is_answerable and len(known) == len(variants)
    return replace(struct, problem=reason, layouts=tuple(dict.fromkeys(known)) if is_judged else ())


def _reason(struct: Struct, macros: list[str], unit: Unit, layouts: dict[str, Struct | None]) -> str:
    named = " and ".join(f"`{macro}`" for macro in macros[:2])
    by_shape: dict[object, str] = {}
    for label, one in layouts.items():
        by_shape.setdefault(None if one is None else _shape(one), f"{label} {_size(one)}")
    sizes = ", ".join(by_shape.values())
    compiler = unit.compiler
    is_enough = not any(map(_unmodelled_test(unit), macros))
    if compiler is None or compiler.family is None:
        who = "which compiler builds it is not known"
    else:
        who = f"{compiler.name} does not state enough"
        is_enough = is_enough and not compiler.version
    remedy = _REMEDY + _NAME_REMEDY if is_enough else _REMEDY
    return f"{struct.source}: {named} decides its layout ({sizes}), and {who}; add {remedy}"


def _size(struct: Struct | None) -> str:
    if struct is None or struct.bit_size is None:
        return "none"
    return f"{struct.bit_size // 8} bytes"


def _counterpart(struct: Struct, others: tuple[Struct, ...]) -> Struct | None:
    """Return the same struct of another variant, at the same place if there are several; else None."""
    same = [one for one in others if (one.name, one.aggregate) == (struct.name, struct.aggregate)]
    here = [one for one in same if one.source == struct.source] or same
    return here[0] if len(here) == 1 and here[0].bit_size is not None and here[0].problem is None else None


def _shape(struct: Struct) -> Struct:
    """Return a struct without what no layout depends on."""
    fields = _without_places(struct.fields)
    return replace(struct, source=None, origin="", aliases=(), fields=fields, annotations=())


def _without_places(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    return tuple(replace(each, source=None, members=_without_places(each.members)) for each in fields)
