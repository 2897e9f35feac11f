"""`--query-driver`: which compilers are run, what they are asked, and what becomes of their answers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from layoutlint.errors import ReadError, UsageError
from layoutlint.files import accesses
from layoutlint.model.reading import ReadOptions, TreeCopy
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import compdb, query_driver
from layoutlint.readers.clang.compdb import Command
from layoutlint.readers.clang.query_driver import compiler_of, trusted_compilers
from tests.harness.tools import need

ANSWER = r"""
cat >&2 <<END
Target: arm-none-eabi
#include "..." search starts here:
#include <...> search starts here:
 /opt/x/include
 /opt/x/../y
End of search list.
END
echo '#define __GNUC__ 13'; echo '#define __GNUC_MINOR__ 2'; echo '#define __GNUC_PATCHLEVEL__ 1'
"""
RECORD = 'echo "$0 $*" >>LOG; env >>LOG.env; pwd >>LOG.env\n'
"""What a compiler of these tests does: it notes how it was called."""


def program(path: Path, script: str = ANSWER, log: Path | None = None) -> Path:
    """Make an executable, which notes its arguments, environment and folder in a log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    note = "" if log is None else RECORD.replace("LOG", str(log))
    path.write_text(f"#!/bin/sh\n{note}{script}")
    path.chmod(0o755)
    return path


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A project with a repository, and folders of compilers outside and inside of it."""
    (tmp_path / "project/.git").mkdir(parents=True)
    (tmp_path / "project/q.c").write_text("struct q { char c; long l; };\n")
    log = tmp_path / "log"
    for where in ("trusted/arm-none-eabi-gcc", "trusted/gcc-13", "project/tools/arm-none-eabi-gcc", "project/planted-gcc", "project/gcc-13"):
        program(tmp_path / where, log=log)
    (tmp_path / "trusted/gcc").symlink_to("gcc-13")
    (tmp_path / "trusted/inside-gcc").symlink_to(tmp_path / "project/tools/arm-none-eabi-gcc")
    (tmp_path / "project/outside-gcc").symlink_to(tmp_path / "trusted/gcc-13")
    (tmp_path / "trusted/ccache").write_text("")
    program(tmp_path / "trusted/ccache", "exit 1", log)
    (tmp_path / "wrapped").mkdir()
    (tmp_path / "wrapped/gcc").symlink_to(tmp_path / "trusted/ccache")
    (tmp_path / "trusted/closed-gcc").write_text("#!/bin/sh\n")
    (tmp_path / "trusted/folder-gcc").mkdir()
    program(tmp_path / "trusted/two\nlines-gcc", log=log)
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("PATH", f":.:tools:{tmp_path}/project:{tmp_path}/wrapped:{tmp_path}/trusted:/usr/bin:/bin")
    accesses.begin_run()
    return tmp_path


def calls(place: Path) -> list[str]:
    """Return the names and arguments of the compilers that were run."""
    log = place / "log"
    return log.read_text().splitlines() if log.exists() else []


def ask(place: Path, compiler: str, *words: str, globs: tuple[str, ...] = ("/**",), directory: str = "", **options):
    """Return the compiler of a command in the project."""
    command = Command("q.c", str(place / "project" / directory), words, compiler)
    read = ReadOptions(query_drivers=trusted_compilers(globs, os.environ["PATH"]), **options)
    return compiler_of(command, words, read, (str(place / "project"),), str(place / "project/compile_commands.json"))


FOUND = [
    # a compiler of a database, the patterns, the compiler that is run
    ("arm-none-eabi-gcc", ("PLACE/trusted/*",), "PLACE/trusted/arm-none-eabi-gcc"),
    ("gcc", ("PLACE/trusted/gcc-13",), "PLACE/trusted/gcc-13"),  # links are resolved; the wrapper before it in PATH is not run
    ("PLACE/trusted/gcc", ("PLACE/trusted/gcc-1?",), "PLACE/trusted/gcc-13"),
    ("PLACE/trusted/../trusted/gcc", ("/**/gcc-13",), "PLACE/trusted/gcc-13"),
    ("../trusted/gcc", ("**gcc-13",), "PLACE/trusted/gcc-13"),
    ("./outside-gcc", ("/**",), "PLACE/trusted/gcc-13"),
    ("gcc", ("/nowhere/*,PLACE/trusted/*",), "PLACE/trusted/gcc-13"),
    ("gcc", ("/nowhere/*", "PLACE/trusted/*"), "PLACE/trusted/gcc-13"),
    ("PLACE/trusted/two\nlines-gcc", ("PLACE/trusted/*",), "PLACE/trusted/two\nlines-gcc"),
    ("gcc", ("PLACE/trusted/gcc",), None),  # the name of the link
    ("gcc", ("PLACE/*",), None),  # `*` is within a folder
    ("gcc", ("PLACE/trusted/gcc-1",), None),
    ("gcc", ("PLACE/trusted/gcc-13x",), None),
    ("gcc", ("PLACE/trusted/gcc.13",), None),
    ("PLACE/trusted/ccache", ("PLACE/trusted/gcc*",), None),
    ("closed-gcc", ("/**",), None),
    ("PLACE/trusted/closed-gcc", ("/**",), None),
    ("PLACE/trusted/folder-gcc", ("/**",), None),
    ("missing-gcc", ("/**",), None),
    ("/dev/null", ("/**",), None),
    ("", ("/**",), None),
    ("gcc\0", ("/**",), None),
    # in the checkout
    ("./planted-gcc", ("/**",), None),
    ("planted-gcc", ("/**",), None),
    ("tools/arm-none-eabi-gcc", ("/**",), None),
    ("PLACE/project/tools/arm-none-eabi-gcc", ("/**",), None),
    ("PLACE/trusted/../project/planted-gcc", ("/**",), None),
    ("PLACE/trusted/inside-gcc", ("/**",), None),
    ("inside-gcc", ("/**",), None),
]


@pytest.mark.parametrize(("word", "globs", "expected"), FOUND, ids=range(len(FOUND)))
def test_which_compiler_is_run(word, globs, expected, place):
    def fill(text):
        return text.replace("PLACE", str(place))

    compiler = ask(place, fill(word), globs=tuple(map(fill, globs)))
    assert (compiler.answer is not None) == (expected is not None)
    start = "\n".join(calls(place)).removesuffix(" -E -dM -v -x c -")
    assert start == ("" if expected is None else fill(expected))


def test_the_folders_of_path_that_are_relative_or_in_the_checkout_run_nothing(place, monkeypatch):
    trusted = f"{place}/trusted"
    for path, expected in ((f":.:tools:{trusted}", True), (f"{place}/project:{trusted}", False), (".", False)):
        monkeypatch.setenv("PATH", f"{path}:/usr/bin:/bin")
        accesses.begin_run()
        assert (ask(place, "gcc-13").answer is not None) == expected, path


def test_a_file_in_the_copied_tree_or_beside_the_source_is_not_run(place):
    copy = TreeCopy(str(place / "trusted"), str(place / "copy"), str(place / "project"))
    assert ask(place, "gcc", copy=copy).answer is None
    command = Command("q.c", str(place / "trusted"), (), "./gcc")
    read = ReadOptions(query_drivers=trusted_compilers(["/**"], os.environ["PATH"]))
    assert compiler_of(command, (), read, (), str(place / "project/compile_commands.json")).answer is None
    assert calls(place) == []


def test_no_option_runs_no_compiler(place):
    command = Command("q.c", str(place / "project"), (), "gcc")
    assert compiler_of(command, (), ReadOptions(), (), "x.json").answer is None
    assert calls(place) == []


@pytest.mark.parametrize("glob", ["gcc", "./gcc", "bin/*gcc"])
def test_a_relative_pattern_is_a_mistake(glob):
    with pytest.raises(UsageError, match=re.escape(glob)):
        trusted_compilers([glob], os.environ["PATH"])


ASKED = [
    # the words of a command, and those that the compiler gets
    ("-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -O2 -std=gnu11 -ansi -pthread -fopenmp -fno-short-enums -nostdinc -fsanitize=address,undefined", None),
    ("-specs=nano.specs -specs=nosys.specs", None),
    ("-march=rv64gc_zba+x --sysroot=/opt/root -isysroot /opt/root", None),
    ("--sysroot ../root", "--sysroot=PLACE/project/../root"),
    ("-march=native -mtune=native", ""),
    ("-DX=1 -U Y -Iinc -isystem /x -include h.h -c -o out.o -MD -MF dep -MT x -Wall -g -save-temps -dumpdir x -x c++", ""),
    ("-fplugin=/tmp/x.so -fplugin-arg-x-y=1 -B/tmp -B /tmp -wrapper /bin/sh,-c -specs=/tmp/x -specs=./x --specs=../x -specs=a/b", ""),
    ("@words -Xclang -load -Xclang x.so -mllvm -load=x.so -Wp,-MD,x -Xpreprocessor -MD -fmodule-mapper=|sh -fuse-ld=/tmp/ld", ""),
    ("-fdump-tree-all -fopt-info=/tmp/x -fprofile-use=/tmp/x -fdiagnostics-format=sarif-file -ftime-report -fstack-usage", ""),
    ("-mfoo=/tmp/x -m -std=a/b -fno-plugin -Wl,x -T x.ld -### --version -print-prog-name=cc1 -E -dM", ""),
    ("--target=x86_64-linux-gnu -O1", "not asked"),
    ("-undef -O1", "not asked"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "expected"), ASKED, ids=range(len(ASKED)))
def test_the_flags_that_a_compiler_gets(words, expected, place):
    ask(place, "arm-none-eabi-gcc", *words.split())
    got = "\n".join(calls(place)).partition(" -x c -")[2].strip()
    if expected == "not asked":
        assert calls(place) == []
    else:
        assert got == (words if expected is None else expected).replace("PLACE", str(place))


def test_specs_are_not_searched_below_a_sysroot_of_the_checkout(place):
    for root, expected in (("sub", "--sysroot=PLACE/project/sub"), ("/opt/root", "-specs=x.specs --sysroot=/opt/root")):
        (place / "log").unlink(missing_ok=True)
        ask(place, "gcc", "--specs=x.specs", f"--sysroot={root}")
        assert calls(place)[0].partition(" -x c - ")[2] == expected.replace("PLACE", str(place))


def test_environment_and_folder_are_fixed(place, monkeypatch):
    for name in ("GCC_EXEC_PREFIX", "CPATH", "C_INCLUDE_PATH", "COMPILER_PATH", "DEPENDENCIES_OUTPUT", "LD_PRELOAD", "X"):
        monkeypatch.setenv(name, f"{place}/project")
    ask(place, "gcc")
    lines = set((place / "log.env").read_text().splitlines()) - {"_=/usr/bin/env", "_=/bin/env"}
    assert lines == {"LC_ALL=C", f"PATH={place}/wrapped:{place}/trusted:/usr/bin:/bin", "PWD=/", "/"}


def test_a_question_is_asked_once(place):
    for words in (("-O1",), ("-O1",), ("-O1", "-DX"), ("-O2",)):
        ask(place, "gcc", *words)
    assert len(calls(place)) == 2
    compiler = place / "trusted/gcc-13"
    os.utime(compiler, ns=(1, 1))
    ask(place, "gcc", "-O1")
    assert len(calls(place)) == 3


def test_an_answer(place):
    compiler = ask(place, "gcc", "-O1")
    assert (compiler.name, compiler.family, compiler.version, compiler.triple) == ("gcc", "gcc", (13, 2, 1), "arm-none-eabi")
    assert compiler.answer.folders == ("/opt/x/include", "/opt/y")


FAILURES = [
    # what a compiler does, and the end of the reason
    ("echo 'x: error: no such option' >&2; exit 1", "x: error: no such option"),
    ("exit 3", "status 3"),
    ("echo hello", "hello"),
    ("echo 'hello\nworld'; exit 1", "hello"),
    (ANSWER.replace("__GNUC__", "__TINYC__"), "Target: arm-none-eabi"),
    (ANSWER + "exit 1", "Target: arm-none-eabi"),
    ("head -c 2000000 /dev/zero", "gives more than 1,048,576 bytes"),
]


@pytest.mark.parametrize(("script", "reason"), FAILURES, ids=range(len(FAILURES)))
def test_a_compiler_without_an_answer(script, reason, place):
    program(place / "trusted/bad-gcc", script, place / "log")
    for _ in range(2):
        with pytest.raises(ReadError) as raised:
            ask(place, "bad-gcc")
        assert raised.value.path == "q.c"
        assert raised.value.reason.startswith(f"{place}/trusted/bad-gcc ")
        assert raised.value.reason.removesuffix(" (--query-driver)").endswith(reason)
    assert len(calls(place)) == 1


@pytest.mark.parametrize("script", ["sleep 60", "sleep 60 &\nwait", "(sleep 60; touch LATE) &\nexit 0", "yes >&2"])
def test_a_compiler_that_does_not_end(script, place, monkeypatch):
    monkeypatch.setattr(query_driver, "_LIMITS", query_driver._LIMITS.__class__(1, 1 << 20, 1 << 20))
    program(place / "trusted/slow-gcc", f"echo $$ >{place}/pid\n{script}")
    with pytest.raises(ReadError, match="takes more than 1 s"):
        ask(place, "slow-gcc")
    group = (place / "pid").read_text().strip()
    deadline = time.monotonic() + 30
    while members(group):
        assert time.monotonic() < deadline


def members(group: str) -> list[str]:
    """Return the processes of a group that are not dead."""
    states = subprocess.run(["ps", "-e", "-o", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    return [line for line in states.splitlines() if line.split()[0] == group and "Z" not in line]


def read_struct(place, compiler, words, text):
    """Return struct q of a source in a project of its own, read with the real compilers."""
    folder = place / "real"
    folder.mkdir(exist_ok=True)
    (folder / "q.c").write_text(text)
    database = folder / "compile_commands.json"
    database.write_text(json.dumps([{"directory": str(folder), "file": "q.c", "arguments": [compiler, *words, "-c", "q.c"]}]))
    options = ReadOptions(query_drivers=trusted_compilers(["/usr/bin/*", "/usr/lib/llvm-*/bin/*"], os.environ["PATH"]))
    return compdb.read(str(database), Wanted(frozenset(["q"])), options)


def gcc_sizes(compiler, words, text, fields):
    """Return what the compiler says of struct q: its size, and the offsets of fields."""
    numbers = ["sizeof(struct q)", *(f"__builtin_offsetof(struct q, {name})" for name in fields)]
    rows = "".join(f"char row{at}[{number} + 1];\n" for at, number in enumerate(numbers))
    done = subprocess.run([compiler, *words, "-S", "-fno-lto", "-fcommon", "-o", "-", "-xc", "-"], input=text + rows, capture_output=True, text=True, check=True)
    sizes = dict(re.findall(r"\.l?comm(?:on)?\s+_?row(\d+),\s*(?:\"?)(\d+)", done.stdout))
    return [int(sizes[str(at)]) - 1 for at in range(len(numbers))]


EVERY_TYPE = "#include <stddef.h>\nstruct q { char c; long l; char d; max_align_t m; char e; long double f; char g; wchar_t w; size_t s; enum { A } a; char z; };\n"
BUILT_IN = (
    "__has_feature", "__has_extension", "__has_warning", "__is_identifier", "__has_declspec_attribute", "__has_c_attribute", "__has_builtin",
    "__has_constexpr_builtin", "__is_target_arch", "__building_module", "__MODULE__", "__has_include", "__has_include_next", "__has_attribute", "__TIMESTAMP__", "__COUNTER__",
)  # fmt: skip
REAL = [
    ("gcc", "", "#include <stdio.h>\n#include <pthread.h>\n#include <immintrin.h>\nstruct q { char a; FILE f; pthread_mutex_t m; __m256 v; char z; };\n"),
    ("gcc", "-mavx512f", "struct q { char a; __attribute__((vector_size(__BIGGEST_ALIGNMENT__))) int v; char z; };\n"),
    *(("gcc", words, "typedef int t __attribute__((aligned));\nstruct in { char c; } __attribute__((aligned));\n"
       "struct q { char a; int b __attribute__((aligned)); char c; t d; char e; struct in f; char g; char h __attribute__((__aligned__)); char z; };\n")
      for words in ("", "-mavx", "-mavx512f -O2", "-march=haswell", "-m32", "-m32 -mavx2")),
    ("gcc", "-fsanitize=address", "#if defined __SANITIZE_ADDRESS__ && __has_attribute(__no_sanitize_address__)\nstruct q { char a; char z; };\n#endif\n"),
    *((name, "", "#if __has_attribute(counted_by) || __has_builtin(__builtin_operator_new)\nstruct q { int a; char z; };\n#else\nstruct q { char a; char z; };\n#endif\n")
      for name in ("gcc", "clang", "clang-19")),
    ("gcc", "-O2 -fopenmp", "#include <omp.h>\n#include <quadmath.h>\nstruct q { char a; omp_lock_t l; __complex128 c; _Float64x x; _Float32 f; __float80 e; char z[_OPENMP / 100]; };\n"),
    ("gcc", "", "struct q { char a[__GNUC__]; char b[__GNUC_MINOR__ + 1];\n#ifdef __clang__\nint c;\n#endif\n#ifdef __OPTIMIZE__\nlong o;\n#endif\nchar z; };\n"),
    ("gcc", "", "".join(f"#ifdef {name}\n#define W{at} 1\n#else\n#define W{at} 2\n#endif\n" for at, name in enumerate(BUILT_IN))
     + f"struct q {{ {' '.join(f'char f{at}[W{at}];' for at in range(len(BUILT_IN)))} char z; }};\n"),
    ("gcc", "-m32", EVERY_TYPE), ("gcc", "-funsigned-char", "struct q { char a[__CHAR_UNSIGNED__]; char z; };\n"),
    ("gcc", "-D__GNUC__=3 -U__linux__", "struct q { char a[__GNUC__];\n#ifdef __linux__\nint l;\n#endif\nchar z; };\n"),
    ("arm-none-eabi-gcc", "-mcpu=cortex-m4 --specs=nano.specs", "#include <sys/reent.h>\nstruct q { char a; struct _reent r; char z; };\n"),
    ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "#include <sys/reent.h>\nstruct q { char a; struct _reent r; char z; };\n"),
    ("arm-none-eabi-gcc", "-mcpu=cortex-m4 -mfloat-abi=hard", EVERY_TYPE), ("arm-none-eabi-gcc", "-fno-short-enums", EVERY_TYPE),
    ("arm-none-eabi-gcc", "-mcpu=cortex-a9 -mfpu=neon -mfloat-abi=hard", "#include <arm_neon.h>\nstruct q { char a; int8x8_t b; char c; float32x4_t d; char z; };\n"),
    ("aarch64-linux-gnu-gcc", "-ffreestanding", "#include <arm_neon.h>\nstruct q { char a; int8x8_t b; char c; float64x2_t d; poly128_t e; char z; };\n"),
    *((f"{name}-gcc", "", EVERY_TYPE) for name in (
        "aarch64-linux-gnu", "arm-linux-gnueabihf", "arm-linux-gnueabi", "i686-linux-gnu", "mips-linux-gnu", "s390x-linux-gnu", "riscv64-linux-gnu",
        "powerpc64le-linux-gnu", "powerpc-linux-gnu", "sparc64-linux-gnu", "x86_64-w64-mingw32", "i686-w64-mingw32",
    )),
    ("x86_64-w64-mingw32-gcc", "", "#include <windows.h>\nstruct q { char a; SYSTEMTIME s; CONTEXT c; char z; };\n"),
    ("clang", "", "#include <stdio.h>\n#include <immintrin.h>\nstruct q { char a; FILE f; __m256 v; char b[__clang_major__]; char z; };\n"),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("compiler", "words", "text"), REAL, ids=range(len(REAL)))
def test_real_compilers_decide_layouts(compiler, words, text, tmp_path):
    need(compiler, "-c")
    reading = read_struct(tmp_path, compiler, words.split(), text)
    (struct,) = reading.structs
    assert struct.problem is None
    places = [struct.bit_size // 8, *(field.bit_offset // 8 for field in struct.fields)]
    assert places == gcc_sizes(compiler, words.split(), text, [field.name for field in struct.fields])


def test_types_of_another_size_are_refused(place):
    program(place / "trusted/odd-gcc", ANSWER + "echo '#define __SIZEOF_LONG__ 16'; echo '#define __SIZEOF_INT__ 4'")
    database = place / "project/compile_commands.json"
    database.write_text(json.dumps([{"directory": ".", "file": "q.c", "command": "odd-gcc -c q.c"}]))
    with pytest.raises(ReadError, match="`long` has 16 bytes for odd-gcc"):
        compdb.read(str(database), Wanted(frozenset(["q"])), ReadOptions(query_drivers=trusted_compilers(["/**"], os.environ["PATH"])))
