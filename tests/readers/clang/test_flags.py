"""Flags: each is passed, translated, harmless, or makes layouts unknown; none runs, loads or writes anything."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from clang.cindex import Index, TranslationUnit

from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang
from layoutlint.readers.clang import flags, option_table
from tests.harness.command import run

X86 = "--target=x86_64-linux-gnu"
SWITCHED = "struct s {{\n#if {}\n    long a;\n#endif\n    int b;\n}};\n"
ALL = Wanted(everything=True)
RULES = '[[rule]]\nid = "small"\nstruct = "s"\nkind = "size"\nmax = 4\nwhy = "w"\n'


def read(folder: Path, text: str, *words: str):
    (folder / "x.h").write_text(text)
    reading = clang.read(str(folder / "x.h"), ALL, ReadOptions(flags=words))
    return {struct.name: struct for struct in reading.structs}, reading


def size(folder: Path, condition: str, *words: str) -> int | None:
    """The size of a struct that has a long more under a condition; None where it is not known."""
    structs, _ = read(folder, SWITCHED.format(condition), *words)
    return None if structs["s"].problem else structs["s"].bit_size // 8


DEFINING = [
    # flags, what is true under them (GCC 12 and clang 19, -dM -E)
    (("-mcx16",), "defined __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16"),
    (("-maes",), "__AES__"),
    (("-mbmi2",), "__BMI2__"),
    (("-mavx2",), "__AVX2__ && __SSE4_2__"),
    (("-mavx2", "-mno-avx2"), "!defined __AVX2__"),
    (("-mno-sse2",), "!defined __SSE2__"),
    (("-mabm",), "__ABM__ && __LZCNT__ && __POPCNT__"),
    (("-march=x86-64-v3",), "__AVX2__"),
    (("-ffast-math",), "__FAST_MATH__"),
    (("--fast-math",), "__FAST_MATH__"),
    (("-Ofast",), "__FAST_MATH__ && __OPTIMIZE__"),
    (("-Os",), "__OPTIMIZE_SIZE__"),
    (("--optimize=2",), "__OPTIMIZE__"),
    (("-O2", "-O0"), "!defined __OPTIMIZE__"),
    (("-fstack-protector",), "__SSP__"),
    (("-fstack-protector-strong",), "defined __SSP_STRONG__"),
    (("-fstack-protector-all",), "__SSP_ALL__"),
    (("-fstack-protector-explicit",), "__SSP_EXPLICIT__"),
    (("-fcf-protection",), "__CET__ == 3"),
    (("-fexceptions",), "__EXCEPTIONS"),
    (("-fexceptions", "-fno-exceptions"), "!defined __EXCEPTIONS"),
    (("-mcmodel=kernel",), "__code_model_kernel__"),
    (("-mcmodel=large",), "__code_model_large__"),
    (("-fPIC",), "__PIC__ == 2"),
    (("-fpie",), "__PIE__ == 1"),
    (("-fno-PIE",), "!defined __PIE__"),
    (("-fopenmp",), "_OPENMP"),
    (("-pthread",), "_REENTRANT"),
    (("-posix",), "defined _POSIX_SOURCE"),
    (("-fno-math-errno",), "__NO_MATH_ERRNO__"),
    (("-ffreestanding",), "!__STDC_HOSTED__"),
    (("-fno-hosted",), "!__STDC_HOSTED__"),
    (("-funsigned-char",), "__CHAR_UNSIGNED__"),
    (("-fgnu89-inline",), "__GNUC_GNU_INLINE__"),
    (("-undef",), "!defined __linux__"),
    (("-std=c99",), "__STDC_VERSION__ == 199901L && __STRICT_ANSI__"),
    (("--std=c99",), "__STDC_VERSION__ == 199901L"),
    (("-ansi",), "!defined __STDC_VERSION__"),
    (("--ansi",), "!defined __STDC_VERSION__"),
    (("-fsanitize=address",), "defined __SANITIZE_ADDRESS__"),
    (("-fsanitize=thread,undefined",), "defined __SANITIZE_THREAD__"),
    (("-fsanitize=address", "-U__SANITIZE_ADDRESS__"), "!defined __SANITIZE_ADDRESS__"),
    (("-DX",), "X == 1"), (("-D", "X=2"), "X == 2"), (("--define-macro=X=3",), "X == 3"), (("--define-macro", "X"), "X"),
    (("-DX", "-UX"), "!defined X"), (("-UX", "-DX"), "X"), (("-DX", "--undefine-macro=X"), "!defined X"),
    (("-DX", "--undefine-macro", "X"), "!defined X"),
    (("-Wp,-DX",), "X"), (("-Wp,-D,X=4,-DY",), "X == 4 && Y"), (("-Xpreprocessor", "-DX"), "X"),
    (("-Xpreprocessor", "-D", "-Xpreprocessor", "X=5"), "X == 5"), (("-Wp,-DX=6", "-DX=7"), "X == 6"),
    (("-Wp,-UX", "-DX"), "!defined X"),
    (("-Xclang", "-DX"), "X"), (("-Xclang", "-D", "-Xclang", "X=8"), "X == 8"), (("-Xclang", "-DX=1", "-UX"), "X"),
    (("-Wp,-MMD,x.d", "-DX"), "X"), (("-MF", "-DX", "-DY"), "Y && !defined X"),
    (("-include", "more.h"), "MORE"), (("-includemore.h",), "MORE"), (("--include=more.h",), "MORE"), (("--include", "more.h"), "MORE"),
    (("-imacros", "more.h"), "MORE"), (("--imacros", "more.h"), "MORE"), (("--imacros=more.h",), "MORE"),
    (("-Wp,-include,more.h",), "MORE"), (("-Xclang", "-include", "-Xclang", "more.h"), "MORE"),
    (("-Iinc", "-include", "below.h"), "BELOW"), (("--include-directory=inc", "-include", "below.h"), "BELOW"),
    (("--include-directory", "inc", "-include", "below.h"), "BELOW"), (("-isysteminc", "-include", "below.h"), "BELOW"),
    (("-B", "pre", "-include", "prefixed.h"), "PREFIXED"), (("-iprefix", "in", "-iwithprefix", "c", "-include", "below.h"), "BELOW"),
    (("@words",), "X == 9 && Y == ' ' && Z == '\"'"), (("@nested",), "X == 9 && W"),
    (("-x", "c", "-DX"), "X"), (("-L", "-DX", "-DY"), "Y && !defined X"), (("--param", "-DX"), "!defined X"),
    (("-mllvm", "-DX"), "!defined X"),
]  # fmt: skip


@pytest.fixture
def working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inc").mkdir()
    (tmp_path / "pre/include").mkdir(parents=True)
    (tmp_path / "more.h").write_text("#define MORE 1\n")
    (tmp_path / "inc/below.h").write_text("#define BELOW 1\n")
    (tmp_path / "pre/include/prefixed.h").write_text("#define PREFIXED 1\n")
    (tmp_path / "words").write_text("-DX=9\n  \"-DY=' '\" '-DZ=\\'\"\\''\n")
    (tmp_path / "nested").write_text("@words -D\\W '-DV'\n")
    return tmp_path


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("words", "condition"), DEFINING, ids=lambda row: " ".join(row) if isinstance(row, tuple) else None
)
def test_what_flags_define_is_defined(words, condition, working_folder):
    assert size(working_folder, condition, X86, *words) == 16
    assert size(working_folder, f"!({condition})", X86, *words) == 4


@pytest.mark.parametrize(
    ("words", "condition"),
    [
        ("-fsanitize=address", "__SANITIZE_ADDRESS__ && __has_feature(address_sanitizer)"),
        ("-fsanitize=thread,undefined", "__SANITIZE_THREAD__ && __has_feature(thread_sanitizer)"),
    ],
)
def test_sanitizers_are_features_of_clang(words, condition, working_folder):
    """Of a header alone they are not known: a GCC before 14 has no `__has_feature`."""
    (working_folder / "x.c").write_text(SWITCHED.format(condition))
    entry = {"directory": str(working_folder), "file": "x.c", "arguments": ["clang", X86, words, "-c", "x.c"]}
    database = working_folder / "compile_commands.json"
    database.write_text(json.dumps([entry]))
    (struct,) = clang.read(str(database), ALL, ReadOptions()).structs
    assert (struct.problem, struct.bit_size) == (None, 128)


UNKNOWN = [
    # flags, what is said
    (("-fnothing-known",), "-fnothing-known, which is not known here"),
    (("-mnothing-known",), "-mnothing-known, which is not known here"),
    (("--nothing-known",), "--nothing-known, which is not known here"),
    (("--config=x.cfg",), "--config=x.cfg, which is not known here"),
    (("--config", "x.cfg"), "--config x.cfg, which is not known here"),
    (("-specs=x",), "-specs=x, which is not known here"),
    (("@gone",), "the response file gone is not there"),
    (("-ivfsoverlay", "x.yaml"), "-ivfsoverlay x.yaml, which is not known here"),
    (("-include-pch", "x.pch"), "-include-pch x.pch: precompiled headers are not read"),
    (("-Xclang", "-include-pch", "-Xclang", "x.pch"), "-include-pch x.pch: precompiled headers are not read"),
    (("-fmodules",), "-fmodules, which is not known here"),
    (("-fmodule-map-file=x",), "-fmodule-map-file=x, which is not known here"),
    (("-fplugin=./x.so",), "-fplugin=./x.so, which libclang does not have"),
    (("-Xclang", "-load", "-Xclang", "./x.so"), "-Xclang -load ./x.so, which is not known here"),
    (("-Xclang", "-add-plugin", "-Xclang", "x"), "-Xclang -add-plugin x, which is not known here"),
    (("-Xclang", "-fpass-plugin"), "-Xclang -fpass-plugin, which is not known here"),
    (("-Xclang", "@more"), "the response file more is not there"),
    (("-fopenmp-targets=nvptx64",), "-fopenmp-targets=nvptx64, which is not known here"),
    (("--offload-arch=native",), "--offload-arch=native, which is not known here"),
    (("-fsso-struct=big-endian",), "-fsso-struct=big-endian, which is not known here"),
    (("-fipa-struct-reorg",), None), (("-finput-charset=utf-16",), "-finput-charset=utf-16, which is not known here"),
    (("-working-directory", "inc"), "-working-directory inc, which is not known here"),
    (("-I-",), "-I-, which is not known here"),
    (("-Amachine=x",), "-Amachine=x, which is not known here"),
    (("-D",), "the flag -D lacks its value"),
    (("-traditional-cpp",), "-traditional-cpp, which is not known here"),
    (("-mmusl",), "-mmusl, which is not known here"),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("words", "message"), UNKNOWN, ids=lambda row: " ".join(row) if isinstance(row, tuple) else None
)
def test_a_flag_that_is_not_known_makes_layouts_unknown(words, message, working_folder):
    problem = read(working_folder, "struct s { int a; };", *words)[0]["s"].problem
    assert message is None or (problem is not None and message in problem)


def test_the_command_says_so_with_status_3(working_folder):
    (working_folder / "x.h").write_text("struct s { int a; };\n")
    (working_folder / "rules.toml").write_text(RULES)
    done = run("check", "x.h", "--rules", "rules.toml", "--", "-fnothing-known", cwd=working_folder)
    assert (done.returncode, "compiled with -fnothing-known" in done.stdout) == (3, True)
    assert (
        run("check", "x.h", "--rules", "rules.toml", "--", "-fno-strict-aliasing", cwd=working_folder).returncode == 0
    )


def test_a_struct_that_such_a_flag_may_hide_is_not_passed_over(working_folder):
    (working_folder / "x.h").write_text("#ifdef MORE\nstruct s { int a; };\n#endif\n")
    reading = clang.read("x.h", Wanted(frozenset(["s"])), ReadOptions(flags=("-fnothing-known",)))
    assert "compiled with -fnothing-known" in str(reading.unread[0])


REFUSED = [
    # flags, what is said
    (("--target=amdgcn-amd-amdhsa", "-mcpu=native"), "the target amdgcn-amd-amdhsa"),
    (("-target", "amdgcn-amd-amdhsa"), "the target amdgcn-amd-amdhsa"),
    (("--target=nvptx64-nvidia-cuda",), "the target nvptx64-nvidia-cuda"),
    (("--target=spirv64",), "the target spirv64"),
    (("--target=x86_64-linux-../../x",), "the target x86_64-linux-../../x"),
    (("--target=x86_64-unknown-amdhsa",), "the target x86_64-unknown-amdhsa"),
    (("-arch", "amdgcn"), "the target amdgcn"),
    (("--target=x86_64-linux-gnu", "--target=amdgcn"), "the target amdgcn"),
    (("-x", "cuda"), "is compiled as cuda"), (("-xhip",), "is compiled as hip"), (("--language=cl",), "is compiled as cl"),
    (("-x", "ir"), "is compiled as ir"), (("-xast",), "is compiled as ast"),
    (("@round",), "is a response file that includes itself"),
    (("@large",), "more than the 4,194,304 that are read"),
    (("@bomb",), "makes response files of more than 4,194,304 bytes"),
    (("@deep0",), "is a response file inside 16 others"),
    (("@/dev/zero",), "is a pipe or a device"), (("@pipe",), "is a pipe or a device"), (("@inc",), "is a directory"),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("words", "message"), REFUSED, ids=lambda row: " ".join(row) if isinstance(row, tuple) else None
)
@pytest.mark.parametrize("by", ["flags", "database", "folder"])
def test_nothing_is_read_under_a_flag_that_is_refused(words, message, by, working_folder):
    (working_folder / "round").write_text("-DX @other")
    (working_folder / "other").write_text("@./round")
    (working_folder / "large").write_text(" " * (5 << 20))
    (working_folder / "bomb").write_text("@part\n" * 100)
    (working_folder / "part").write_text(" " * (1 << 16))
    for number in range(20):
        (working_folder / f"deep{number}").write_text(f"@deep{number + 1}")
    os.mkfifo("pipe")
    (working_folder / "x.h").write_text("struct s { int a; };\n")
    (working_folder / "compile_commands.json").write_text(
        json.dumps([{"directory": str(working_folder), "file": "x.h", "arguments": ["cc", *words, "x.h"]}])
    )
    given = ReadOptions(flags=words if by == "flags" else ())
    with pytest.raises(ReadError) as raised:
        clang.read({"flags": "x.h", "database": "compile_commands.json", "folder": "."}[by], ALL, given)
    assert message in str(raised.value)


def test_one_unit_that_is_refused_is_told_beside_others(working_folder):
    (working_folder / "x.h").write_text("struct s { int a; };\n")
    commands = [
        {"directory": str(working_folder), "file": "x.h", "arguments": ["cc", "-DX", "x.h"]},
        {"directory": str(working_folder), "file": "y.h", "arguments": ["cc", "--target=amdgcn", "x.h"]},
        {"directory": str(working_folder), "file": "x.h", "arguments": ["clang-cl.exe", "/DX", "x.h"]},
        {"directory": str(working_folder), "file": "x.h", "arguments": ["cc", "@round", "x.h"]},
    ]
    (working_folder / "y.h").write_text("struct s { int a; };\n")
    (working_folder / "round").write_text("@round")
    (working_folder / "compile_commands.json").write_text(json.dumps(commands))
    reading = clang.read(".", Wanted(frozenset(["s"])), ReadOptions())
    assert [struct.name for struct in reading.structs] == ["s"]
    output = "\n".join(map(str, reading.unread))
    assert all(word in output for word in ("the target amdgcn", "clang-cl.exe", "includes itself"))


DOUBTFUL = [
    # flags, text, whether the layout is believed
    (("-march=native",), "struct s { int a; };", True),
    (("-march=native",), SWITCHED.format("defined __AVX512F__"), False),
    (("-march=native",), "/* __AVX512F__ */ struct s { int a; };", True),
    (("-mtune=native",), SWITCHED.format("defined __tune_haswell__"), False),
    (("-mtune=haswell",), SWITCHED.format("defined __tune_haswell__"), False),
    (("-mtune=haswell",), "struct s { char c; } __attribute__((aligned));", True),
    (("-march=corei7",), SWITCHED.format("defined __AVX512F__"), True),
    (("-march=corei7",), SWITCHED.format("defined __SSE4_2__"), True),
    (("-march=corei7",), SWITCHED.format("defined __CRC32__"), False),
    (("-march=corei7",), SWITCHED.format("defined __nehalem__"), False),
    (("-march=corei7",), SWITCHED.format("defined __i386__"), True),
    (("-march=corei7",), "struct s { char c; } __attribute__((aligned));", True),
    (("-march=corei7-avx",), "struct s { char c; } __attribute__((aligned));", False),
    (("-march=x86-64-v2",), "struct s { char c; } __attribute__((aligned));", True),
    (("-march=x86-64-v3",), "struct s { char c; } __attribute__((aligned));", False),
    (("-mcpu=native",), SWITCHED.format("defined __ARM_FEATURE_SVE"), True),
    (("-march=native", "-DHAS=__AVX2__"), "struct s { int a; };", True),
    (("-march=native", "-DHAS=__AVX2__"), SWITCHED.format("HAS"), False),
    (("-march=native",), "#ifdef __AVX512F__\nvoid f(void);\n#endif\nstruct s { int a; };", True),
    (("-march=native",), "#ifdef __AVX512F__\n#define N 64\n#else\n#define N 32\n#endif\nstruct s { char a[N]; };", False),
    (("-march=native",), "#ifdef __AVX512F__\n#define N 64\n#else\n#define N 32\n#endif\nchar v[N]; struct s { int a; };", True),
    (("-march=native",), SWITCHED.format("__AVX__ && !__AVX2__"), False),
    (("-march=native",), SWITCHED.format("__AVX__ && !__AVX2__ && (__BMI__ || __GFNI__)"), False),
    (("-march=native",), SWITCHED.format("__AVX__ && __AVX2__ && __BMI__ && __GFNI__ && __SHA__"), False),
    (("-march=native",), SWITCHED.format("__AVX__ || __AVX2__ || __BMI__ || __GFNI__ || __SHA__"), False),
    (("-march=native",), "#if __AVX__ || __AVX2__ || __BMI__ || __GFNI__ || __SHA__\nint x;\n#endif\nstruct s { int a; };", True),
    (("-march=native",), SWITCHED.format("__AVX__ && __BMI__ && !__GFNI__ && !__SHA__ && !__FMA__"), False),
    (("-march=native",), "#if __AVX__ || __AVX2__ || __BMI__ || __GFNI__ || __SHA__ || __FMA__\nint x;\n#endif\nstruct s { int a; };", False),
    (("-march=native",), "#ifdef __AVX512F__\n#error no\n#endif\nstruct s { int a; };", False),
    (("-march=native",), "#ifdef __AVX512F__\nstruct t { char c; } __attribute__((aligned));\n#endif\nstruct s { int a; };", True),
    (("-march=native",), "#if __AVX2__ && __BIGGEST_ALIGNMENT__ > 16\n#endif\nstruct s { int a; };", False),
    (("-march=native", "-fno-asynchronous-unwind-tables"), "#if __AVX2__\n#endif\n" + SWITCHED.format("defined __GCC_HAVE_DWARF2_CFI_ASM"), False),
    (("-march=haswell",), SWITCHED.format("__AVX2__"), True),
    (("-march=haswell",), SWITCHED.format("defined __ABM__"), False),
    (("-mavx",), "struct s { char c; } __attribute__((aligned));", False),
    (("-mavx",), "struct s { char c; } __attribute__((packed, aligned));", False),
    (("-mavx",), "struct s { char c __attribute__((__aligned__)); };", False),
    (("-mavx",), "struct s { char c; } __attribute__((aligned(32)));", True),
    (("-mavx",), "struct t { char c; } __attribute__((aligned)); struct s { int a; };", True),
    (("-mavx",), "struct s { int a[__BIGGEST_ALIGNMENT__]; };", False),
    (("-ffast-math",), SWITCHED.format("__NO_SIGNED_ZEROS__"), False),
    (("-fexcess-precision=standard",), SWITCHED.format("__FLT_EVAL_METHOD__"), True),
    (("-fexcess-precision=fast",), SWITCHED.format("__FLT_EVAL_METHOD__"), True),
    (("-fexcess-precision=16",), SWITCHED.format("__FLT_EVAL_METHOD__"), False),
    (("-fstack-protector-strong",), SWITCHED.format("__SSP_STRONG__ == 3"), False),
    (("-fopenmp",), SWITCHED.format("_OPENMP >= 202011"), False),
    (("-fopenmp",), SWITCHED.format("_REENTRANT"), False),
    (("-fsanitize=safe-stack",), SWITCHED.format("__has_feature(safe_stack)"), False),
    (("-fno-asynchronous-unwind-tables",), SWITCHED.format("__GCC_HAVE_DWARF2_CFI_ASM"), False),
    *(
        (("-std=gnu2x",), SWITCHED.format(f"__STDC_VERSION__ {comparison}"), is_alike)
        for comparison, is_alike in (  # GCC 14 and clang 17 say 202000L, later ones 202311L
            ("> 201710L", True), (">= 201112L", True), ("< 199901L", True), ("== 199901", True), (">= 202000L", True), ("< 202000L", True),
            ("> 202000L", False), ("<= 202000L", False), ("== 202000L", False), (">= 202311L", False), ("> 202000", False),
            (">= LIMIT", False), ("> 2017100L", False),
        )
    ),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("words", "text", "is_believed"), DOUBTFUL)
def test_what_compilers_do_not_agree_on_is_unknown_where_a_text_depends_on_it(words, text, is_believed, working_folder):
    problem = read(working_folder, text, X86, *words)[0]["s"].problem
    assert (problem is None) == is_believed, problem


def test_no_macro_is_advised_for_a_bit_field_without_width(working_folder):
    problem = read(working_folder, "struct s { char c; int : 0; char d; };", X86, "-fpack-struct")[0]["s"].problem
    assert "bit-field `: 0`" in problem
    assert "-D" not in problem.replace("DWARF", "")


@pytest.mark.parametrize("machine", [(), ("-m32",), ("-mx32",), ("-m16",)])
def test_sanitizers_are_features_of_the_machines_that_have_them(machine):
    passed = flags.normalise(("--target=x86_64-linux-gnu", *machine, "-fsanitize=address")).passed
    assert ("-fsanitize=address" in passed) is (machine == ())


REJECTED = [
    # words, those that the compiler does not know, the flag that is named
    (("-O2", "-Wall"), (), None),
    (("-O2", "-mno", "-Wall"), ("-mno",), "-mno"),
    (("-mfpu=neon", "--target=arm-linux-gnueabi"), (), None),
    (("-mfpu=neon", "-O2"), (), "-mfpu=neon"),
    (("-I", "no", "-x", "no"), ("no",), "-I no"),
]


@pytest.mark.parametrize(("words", "unknown", "rejected"), REJECTED)
def test_the_first_flag_that_a_compiler_rejects(words, unknown, rejected):
    """A flag of one machine is known with its target alone, which the compiler may read later."""

    def accepts(some):
        return not set(unknown) & set(some) and ("-mfpu=neon" not in some or some[0] == "--target=arm-linux-gnueabi")

    assert flags.first_rejected(words, accepts) == rejected


PRECOMPILED = ["cfg.h.pch", "cfg.h.gch", "cfg.pch", "cfg.h.pch/x"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", PRECOMPILED)
@pytest.mark.parametrize(
    "words", [("-include", "cfg.h"), ("--include=cfg.h",), ("-imacros", "cfg.h"), ("-Wp,-include,cfg.h",)]
)
def test_a_precompiled_header_is_never_used(name, words, working_folder):
    (working_folder / "cfg.h").write_text("#define PLANTED 1\n")
    made = Index.create().parse("cfg.h", args=["-xc-header", X86], options=TranslationUnit.PARSE_INCOMPLETE)
    (working_folder / name).parent.mkdir(exist_ok=True)
    made.save(name)
    (working_folder / "cfg.h").write_text("#define OWN 1\n")
    assert size(working_folder, "OWN && !defined PLANTED", X86, *words) == 16


@pytest.mark.parametrize("words", [(), ("-Iinc",), ("-iquote", "inc")])
def test_a_module_map_is_never_used(words, working_folder):
    for folder in (working_folder, working_folder / "inc"):
        (folder / "module.modulemap").write_text('module Planted { header "planted.h" export * }\n')
        (folder / "planted.h").write_text("#define PLANTED 1\n")
    (working_folder / "x.c").write_text('#include "planted.h"\nstruct s { int a; };\n')
    (struct,) = clang.read("x.c", ALL, ReadOptions(flags=words)).structs
    assert (struct.problem, struct.bit_size) == (None, 32)


def test_the_headers_that_a_kernel_includes_first_are_texts_too(working_folder):
    """Words of a kernel tree do not come from users, and go the same way to libclang."""
    assert flags.driver_flags(("-DX", "-include", "a.h", "-I", "b")) == (
        "-DX", "-Xclang", "-include", "-Xclang", "a.h", "-I", "b",
    )  # fmt: skip


def test_the_environment_adds_no_flags(working_folder):
    (working_folder / "inc/more.h").write_text("#define PLANTED 1\n")
    (working_folder / "x.h").write_text(
        "#if __has_include(<below.h>)\nstruct s { long a; };\n#else\nstruct s { int a; };\n#endif\n"
    )
    names = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH")
    done = run(
        "show", "x.h", "s", cwd=working_folder, **dict.fromkeys(names, "inc"), CCC_OVERRIDE_OPTIONS="+-DX +-Iinc"
    )
    assert "int a" in done.stdout


def test_cmake_names_the_text_of_its_precompiled_header(working_folder):
    (working_folder / "cmake_pch.h").write_text("#define MORE 1\n")
    words = [
        word
        for one in ("-include-pch", "cmake_pch.h.pch", "-include", "cmake_pch.h")
        for word in ("-Xclang", one)
    ]
    assert size(working_folder, "MORE", X86, *words) == 16


def test_paths_in_flags_are_seen_from_a_folder():
    words = (
        "-Ia",
        "-I",
        "b",
        "--include=c",
        "@d",
        "-B",
        "e",
        "--sysroot=f",
        "-DX",
        "-frandomize-layout-seed-file=g",
        "O=h",
        "--include-directory",
        "i",
    )
    assert flags.make_absolute(words, "/x") == (
        "-I/x/a", "-I", "/x/b", "-include", "/x/c", "@/x/d", "-B", "/x/e", "--sysroot=/x/f", "-DX",
        "-frandomize-layout-seed-file=/x/g", "O=/x/h", "-I", "/x/i",
    )  # fmt: skip


@pytest.mark.parametrize(("given", "read"), [
    ("-Xclang -I -Xclang a -Xclang -isystem -Xclang b -DX", "-DX -I /x/a -isystem /x/b"),
    ("-Xclang -Ia -Xpreprocessor -I -DX -Xpreprocessor b", "-DX -I /x/b -I /x/a"),
    ("-Wp,-I,a,-DX -Wp,-I -Wp,b -Wp,-MMD,c.d", "-I /x/a -D X -I /x/b"),
    ("-Xclang -include -Xclang a.h -Ib", "-I /x/b -include /x/a.h"),
    ("-I -Xclang", "-I /x/-Xclang"), ("-Ia -Xclang", "-I /x/a"), ("-Xlinker -I -Ib", "-I /x/b"),
])  # fmt: skip
def test_paths_that_are_passed_on_are_seen_from_a_folder(given, read):
    words = flags.make_absolute(given.split(), "/x")
    assert " ".join(flags.normalise(words).passed).replace("-DX", "-D X") == read.replace("-DX", "-D X")
    assert flags.make_absolute(words, "/y") == words


def test_harmless_options_are_not_passed():
    assert not [word for word in option_table._harmless_names() if option_table.is_passed(word)]
