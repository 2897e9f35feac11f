"""Input of twice the size takes about twice the time, or is refused: small inputs must not take long."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.intent.c_comments import Text
from layoutlint.intent.toml import document, rule_file
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from layoutlint.model.wanted import Wanted
from layoutlint.randstruct import gcc_plugin, seed
from layoutlint.readers.clang import (
    annotation_tags,
    attributes,
    compdb,
    directives,
    gcc_texts,
    kept_units,
    omissions,
    pack_pragmas,
    parse,
    text_search,
)
from layoutlint.readers.clang.flags import normalise
from layoutlint.readers.clang.parse import Unit
from layoutlint.reports.check import text as as_text
from layoutlint.reports.show import c
from tests.harness.command import ROOT
from tests.harness.pace import limit_time
from tests.readers.elf.test_elf import tool

RULE = '[[rule]]\nid = "r"\n{struct}kind = "{kind}"\nwhy = "w"\n{keys}\n'
TAG = (
    '__attribute__((annotate("layoutlint: hot-read"))) __attribute__((btf_decl_tag("layoutlint: hot-read")))'
)


def chain(n: int) -> str:
    return (
        "typedef int t0;\n"
        + "".join(f"typedef t{i} t{i + 1};\n" for i in range(n))
        + f"struct q {{ t{n} a; }} v;\n"
    )


def annotated_text(n: int) -> str:
    return "struct q {\n" + "".join(f"int f{i}; /* layoutlint: hot-read */\n" for i in range(n)) + "} v;\n"


def one_line(n: int) -> str:
    return annotated_text(n).replace("\n", " ")


def tag(n: int) -> str:
    return "struct q {\n" + "".join(f"int f{i} {TAG};\n" for i in range(n)) + "} v;\n"


def wide(n: int) -> str:
    return "struct q {\n" + "".join(f"long f{i};\n" for i in range(n)) + "} v;\n"


def variables(n: int) -> str:
    return "".join(f"long v{i} = 1;\n" for i in range(n))


def overlap(n: int) -> str:
    """Variables of one address."""
    return "long v = 1;\n" + "".join(f'extern long v{i} __attribute__((alias("v")));\n' for i in range(n))


def declare(n: int) -> str:
    return "[variables]\n" + "".join(
        f'v{i} = {{ access = "hot-{"read" if i % 2 else "write"}" }}\n' for i in range(n)
    )


GROWING = [
    # id, text, size, compiler (None: as C), kind, keys, what a refusal says (None: it is judged)
    ("typedefs, C", chain, 10_000, None, "no-straddle", 'fields = ["*"]', "leads through more than 256 typedefs"),
    ("comments", annotated_text, 2_000, None, "no-straddle", 'fields = ["*"]', None),
    ("comments on one line", one_line, 2_000, None, "no-straddle", 'fields = ["*"]', None),
    ("comments, many", annotated_text, 20_000, None, "no-straddle", 'fields = ["*"]', "more than 10,000 fields"),
    ("tags in DWARF", tag, 4_000, "clang", "no-straddle", 'fields = ["*"]', None),
    ("stride", wide, 5_000, "gcc", "stride", "", None),
    ("fields of a stride", wide, 5_000, "gcc", "stride", 'fields = ["f*"]\nagainst = ["*"]', None),
    ("separate", wide, 2_000, "gcc", "separate", 'fields = [["f?[02468]*"], ["f?[13579]*"]]', "pairs of fields"),
    ("distance", wide, 2_000, "gcc", "distance", 'fields = ["*"]\nmin = 1', "pairs of fields"),
    ("order", wide, 3_000, "gcc", "order", 'fields = ["f?[02468]*", "f?[13579]*"]', "pairs of fields"),
    ("neighbours, alone", variables, 4_000, "gcc", "neighbours", 'variables = ["v1"]\nalone = true\nexcept = ["v*"]', None),
    ("neighbours, all alone", variables, 4_000, "gcc", "neighbours", 'variables = ["v*"]\nalone = true', None),
    ("neighbours, declared", variables, 500, "gcc", "neighbours", declare(1_000), None),
    ("neighbours of one address", overlap, 4_000, "gcc", "neighbours", 'variables = ["v*"]\nalone = true', None),
    ("isolated", wide, 2_000, "gcc", "isolated", 'fields = ["f?[02468]*"]', "pairs of fields"),
]  # fmt: skip


def command_line(folder: Path, text: str, compiler: str | None, kind: str, keys: str) -> list[str]:
    """Write the input and its rule to the folder; return the check of them."""
    folder.mkdir()
    (folder / "q.c").write_text(text)
    struct = "" if kind == "neighbours" else 'struct = "q"\n'
    (folder / "r.toml").write_text(RULE.format(struct=struct, kind=kind, keys=keys))
    source = "q.c"
    if compiler is not None:
        source = "q.o"
        # Other objects can share the last line of an object's variables: those are linked.
        how = ("-nostdlib", "-static") if kind == "neighbours" else ("-c",)
        subprocess.run(
            [tool(compiler), "-g", *how, "q.c", "-o", "q.o"], cwd=folder, check=True, capture_output=True
        )
    return ["-m", "layoutlint", "check", source, "--rules", "r.toml", "--no-packs", "-j1"]


def run(folder: Path, words: list[str]) -> tuple[float, int, str]:
    """Processor time of a run; its memory in KiB; what it printed."""
    code = (
        "import os, resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "sys.stdout.buffer.write(done.stdout + done.stderr)\n"
        "print(); print(used.ru_utime, used.ru_maxrss)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, sys.executable, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=300,
    )
    printed, _, figures = done.stdout.rstrip().rpartition("\n")
    taken, most = figures.split()
    return float(taken), int(most), printed


_ROUNDS = 6
"""A busy machine slows one run of a round: the least times of several are compared."""


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("text", "size", "compiler", "kind", "keys", "refusal"),
    [row[1:] for row in GROWING],
    ids=[row[0] for row in GROWING],
)
def test_twice_the_size_takes_about_twice_the_time(tmp_path, text, size, compiler, kind, keys, refusal):
    texts = ["struct q { int f0, f1; } v = { 1 };\nlong v1 = 1;\n", text(size), text(2 * size)]
    folders = [tmp_path / name for name in ("start", "once", "twice")]
    lines = [command_line(*each, compiler, kind, keys) for each in zip(folders, texts, strict=True)]
    least = [float("inf")] * len(lines)
    is_about_twice = False
    for _ in range(_ROUNDS):
        runs = [run(*each) for each in zip(folders, lines, strict=True)]
        least = [min(before, now[0]) for before, now in zip(least, runs, strict=True)]
        start, once, twice = least
        is_about_twice = twice - start < 3 * (once - start) + 0.3
        if is_about_twice:
            break
    assert is_about_twice, least
    _, memory, printed = runs[-1]
    assert memory < 1 << 20
    assert (refusal is None) == ("exit 3" not in printed), printed[-500:]
    assert refusal is None or refusal in " ".join(printed.split())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["no-straddle", "together"])
def test_a_struct_of_many_fields_has_many_rules(tmp_path, kind):
    """A field for each rule: a rule that looked at all fields would take the square of their number."""
    count = 3_000
    named = {"no-straddle": '"f{0}"', "together": '"f{0}", "f{1}"'}[kind]
    rules = (
        RULE.format(
            struct='struct = "q"\n', kind=kind, keys=f"fields = [{named.format(n, (7 * n + 1) % count)}]"
        )
        for n in range(count)
    )
    (tmp_path / "r.toml").write_text("".join(rule.replace('"r"', f'"r{n}"') for n, rule in enumerate(rules)))
    (tmp_path / "q.h").write_text(wide(count))
    with limit_time(6):
        report = check([str(tmp_path / "q.h")], rule_file.load([str(tmp_path / "r.toml")]), (), Options())
        assert as_text.render(report)
    assert len(report.findings) + len(report.kept_findings) == count


TEXTS: list[tuple[str, Callable[[str], object], str, str]] = [
    # id, what reads a text, how the text begins, what is in it again and again
    ("a struct and spaces", lambda text: text_search.names_defined(text.encode()), "struct a", " "),
    ("structs without braces", lambda text: text_search.names_defined(text.encode()), "", "struct a "),
    ("a long word", lambda text: text_search.names_defined(text.encode()), "_", "union"),
    ("open parentheses", lambda text: text_search.names_defined(text.encode()), "", "xstruct("),
    ("escaped apostrophes", Text, "", "\\'"),
    ("escaped quotes", Text, "", '\\"'),
    ("quotes and backslashes", Text, "", '"\\'),
    ("open comments", Text, "", "/*"),
    ("escaped quotes of attributes", attributes.without_members, "", '\\"'),
    ("open pragmas", lambda text: pack_pragmas.pragmas(text.encode()), "", "#pragma pack("),
    ("words of a pragma", lambda text: pack_pragmas.may_align(text.encode()), "#pragma pack(", "a"),
    ("comments in a pragma", lambda text: pack_pragmas.may_align(text.encode()), "#pragma pack(", "/**/"),
    ("open comments in pragmas", lambda text: pack_pragmas.may_align(text.encode()), "", "#pragma/*"),
    ("hashes and spaces", lambda text: pack_pragmas.may_align(text.encode()), "ragma", "# "),
    ("pragmas of gcc on a line", lambda text: gcc_texts._LAYOUT_PRAGMA.search(text.encode()), "", "GCC optimize "),
    ("macros that go on", lambda text: list(annotation_tags._annotating_macros(text.encode())), "", "#define A \\\n"),
    ("open comments and macros", lambda text: list(annotation_tags._annotating_macros(text.encode())), "", "/* "),
    ("comments before an include", lambda text: kept_units._INCLUDES.search(text.encode()), "#", "/**/"),
    ("pragmas of a macro", lambda text: directives._PACKING.search(text.encode()), "#define a ", "_Pragma "),
    ("local structs without braces", lambda text: list(omissions._BODY.finditer(text)), "", "struct a "),
    ("one long member", lambda text: list(omissions._embedded_types(text)), "", "a "),
    ("a seed and spaces", lambda text: seed._QUOTED.search(text), "randstruct_seed", " "),
    ("a seed's index", lambda text: seed._QUOTED.search(text), "randstruct_seed[", " "),
    ("lines before a hash", lambda text: seed._HASHED.search(text), "", "\n"),
    ("functions of the plugin", lambda text: gcc_plugin._function_body(text, "f"), "", "f(){"),
    ("heads of functions", lambda text: gcc_plugin._function_body(text, "f"), "", "f("),
    ("escaped quotes of TOML", document._tokens, "", '"\\'),
    ("strings of TOML", document._tokens, '"""a', '\\"""\n'),
    ("spaces in a message", lambda text: document._syntax_mistake(f"{text} (at line 1, column 2)", text, "r.toml"), "", " "),
    ("qualifiers", c._add_blanks, "", "const a "),
]  # fmt: skip


@pytest.mark.parametrize(
    ("reads", "begins", "again"), [row[1:] for row in TEXTS], ids=[row[0] for row in TEXTS]
)
def test_no_text_takes_the_square_of_its_length(reads, begins, again):
    text = begins + again * (100_000 // len(again))
    before = time.process_time()
    reads(text)
    assert time.process_time() - before < 20


FLAGS = (
    "-DM{}=1",
    "-I/x{}",
    "-Wno-x{}",
    "-ffoo{}",
    "-fsanitize=a{}",
    "-fpack-struct={}",
    "-mavx{}",
    "-fdenormal-fp-math=a{}",
    "-Wp,-DM{}",
    "@no{}",
)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("spelled", FLAGS)
def test_flags_take_time_by_their_number(spelled):
    read = normalise(tuple(spelled.format(number) for number in range(20_000)))
    unit = Unit("/q.c", read.passed[:100], "/", ("/",), "q.c", "struct q { int a; };", doubts=read.doubts)
    with limit_time(1):
        normalise(tuple(spelled.format(number) for number in range(20_000)))
        assert parse.read(unit, Wanted(frozenset(("q",)))).structs


@pytest.mark.parametrize("given", [("-DA",), "-Wp", ("-Xclang", "-DA")])
def test_more_flags_than_any_project_has_are_refused(given):
    given = (given + ",-DA" * 100_000,) if isinstance(given, str) else given * 100_000
    assert "more than the 20,000 that are read" in (normalise(given).refusal or "")


@pytest.mark.parametrize(
    ("value", "number", "message"), [("{}", 2_000_001, "objects and lists"), ('""', 20_000_002, "values")]
)
def test_a_database_of_many_small_values_is_refused(tmp_path, value, number, message):
    """Python's objects take many times as much memory as their text."""
    path = tmp_path / "compile_commands.json"
    path.write_text("[" + f"{value}," * (number - 1) + f"{value}]")
    with limit_time(1), pytest.raises(ReadError, match=f"{message}, more than the"):
        compdb.load(str(path))
