"""Every option that the installed compilers list, and what libclang is given for it.

The compilers say what their options do: the macros under each, and sizes and offsets. What is believed under an
option must be so; a macro on which libclang differs must be one of the doubts about it.
"""

from __future__ import annotations

import re

import pytest

from layoutlint.readers.clang import option_table
from tests.harness.command import run
from tests.harness.effort import IS_FULL
from tests.oracles import flag_oracle
from tests.oracles.flag_oracle import CLANGS, CROSS, GCCS, Judge

# Options of builds of Linux, glibc, redis, DPDK and PostgreSQL: layouts under them must not be unknown.
COMMON = """
    -O2 -g -Wall -pipe -fno-strict-aliasing -fno-common -fno-delete-null-pointer-checks -fno-strict-overflow -fwrapv
    -fno-omit-frame-pointer -fstack-clash-protection -fno-stack-clash-protection -fno-plt -fvisibility=hidden
    -ffunction-sections -fdata-sections -mtune=generic -mno-red-zone -mpreferred-stack-boundary=3 -mskip-rax-setup
    -mindirect-branch=thunk-extern -mindirect-branch-register -mfunction-return=thunk-extern -mharden-sls=all
    -mrecord-mcount -mfentry -fconserve-stack -fno-jump-tables -falign-functions=16 -fmin-function-alignment=16
    -fzero-call-used-regs=used-gpr -ftrivial-auto-var-init=zero -fno-allow-store-data-races -fpatchable-function-entry=16,16
    -fmacro-prefix-map=./= -ffile-prefix-map=/x=. -fdebug-prefix-map=/x=. -flto -flto=auto -ffat-lto-objects -fno-semantic-interposition
    -fprofile-arcs -ftest-coverage --coverage -fno-ident -fmerge-constants -fno-inline-functions-called-once -frecord-gcc-switches
    -fdiagnostics-color=always -fmessage-length=0 -MMD -MP -MFx.d -MTx.o -fno-builtin -fno-builtin-memcpy -fno-math-errno
    -fexceptions -fasynchronous-unwind-tables -pthread -fPIC -fPIE -fcf-protection -mno-omit-leaf-frame-pointer -save-temps
    -fstack-protector-strong -fno-tree-vectorize -ftree-vectorize -funroll-loops --param=ssp-buffer-size=4 -Wp,-D_FORTIFY_SOURCE=2
    -march=x86-64-v2 -msse4.2 -mavx2 -mno-avx -mcx16 -fno-asynchronous-unwind-tables -fplugin-arg-x-y -fno-rtti -fgnu89-inline
    -moutline-atomics -mstack-protector-guard=sysreg -ffixed-x18 -mbranch-protection=standard -fsanitize=undefined -fno-sanitize=all
    -fcolor-diagnostics -fintegrated-as -no-canonical-prefixes -Qunused-arguments -fno-limit-debug-info -stdlib=libc++ -nostdinc++
    -mretpoline-external-thunk -mstack-alignment=8 -fsplit-lto-unit -fexperimental-new-pass-manager -fno-addrsig
""".split()  # noqa: SIM905


@pytest.mark.parametrize("word", COMMON)
def test_what_builds_use_is_known(word):
    read = flag_oracle.flags.normalise((word,))
    assert (read.problem, read.refusal) == (None, None)


@pytest.mark.exhaustive
@pytest.mark.parametrize("compiler", [*GCCS, *CLANGS, *CROSS])
def test_every_option_that_a_compiler_lists(compiler):
    """Of 72 options one, and of those of other machines one of 24: all take up to ten minutes for each compiler."""
    if not flag_oracle.installed_compilers((compiler,)):
        pytest.skip(f"{compiler} is not here, or does not work")
    share = 1 if IS_FULL else 24 if compiler in CROSS else 72
    judge = Judge(compiler, flag_oracle.effects(compiler, target_only=compiler in CROSS, share=share))
    assert list(judge.mistakes()) == []
    taken = [effect for effect in judge.effects.values() if effect.is_taken]
    assert taken
    if share > 1:
        return
    assert len(taken) > 20
    # What changes nothing and is unknown all the same: options of other languages, of modules and of graphics processors.
    assert judge.idle < 0.12 * len(taken), (judge.idle, len(taken))


IGNORED = [
    # machine, a flag that libclang ignores for it, the words about it (None: it changes no layout)
    ("x86_64-linux-gnu", "-mcpu=cortex-a53", "unsupported option '-mcpu='"),
    ("x86_64-linux-gnu", "-mavx9", "unknown argument '-mavx9'"),
    ("x86_64-linux-gnu", "-mcmodel=weird", "unsupported argument 'weird' to option '-mcmodel='"),
    ("s390x-linux-gnu", "-mlong-double-64", "unsupported option '-mlong-double-64'"),
    ("arm-none-eabi", "-msse", "unsupported option '-msse'"),
    ("x86_64-linux-gnu", "-O2", None),
    ("x86_64-linux-gnu", "-march=x86-64-v3", None),
    ("x86_64-linux-gnu", "-mhard-float", None),
    ("x86_64-linux-gnu", "-mno-avx5124fmaps", None),
    ("i386-linux-gnu", "-msseregparm", None),
    ("arm-none-eabi", "-mfpu=auto", None),
    ("arm-none-eabi", "-mthumb-interwork", None),
    ("s390x-linux-gnu", "-mlong-double-128", None),
]


@pytest.mark.parametrize(("machine", "flag", "words"), IGNORED, ids=[f"{machine} {flag}" for machine, flag, _ in IGNORED])
def test_a_flag_that_libclang_ignores_makes_layouts_unknown(machine, flag, words, tmp_path):
    (tmp_path / "a.h").write_text("struct ring { long head; };\n")
    done = run("show", tmp_path / "a.h", "ring", "--", f"--target={machine}", flag)
    assert (f"error: libclang ignores a flag: {words}" in done.stderr) is (words is not None), done.stderr
    assert "ignores a flag" not in done.stderr or words


@pytest.mark.exhaustive
@pytest.mark.parametrize("compiler", ["gcc", *CROSS, "arm-none-eabi-gcc"])
def test_what_libclang_ignores_and_is_believed_changes_no_layout(compiler):
    """GCC says so, with its own sizes and offsets, for each option of its machine that libclang is not given."""
    if not flag_oracle.installed_compilers((compiler,)):
        pytest.skip(f"{compiler} is not here, or does not work")
    target = f"--target={flag_oracle.triple(compiler)}"
    for word in flag_oracle.options(compiler, target_only=True):
        read = flag_oracle.flags.normalise((target, word))
        is_left_out = word in option_table._UNTAKEN or option_table.is_untaken(word, flag_oracle.triple(compiler))
        if is_left_out and read.problem is None and flag_oracle.macros(compiler, word) is not None:
            assert not flag_oracle.differs(compiler, word), word


MATH = "#include <math.h>\nstruct ring { long head; float limit; };\nstruct odd { char c; float_t value; };\n"
KNOWN = [
    ("-march=native", "ring", True),
    ("-march=haswell", "ring", True),
    ("-mavx2", "ring", True),
    ("-mavx512fp16", "ring", True),
    ("-march=haswell", "odd", True),
    ("-march=sapphirerapids", "odd", False),
]


@pytest.mark.parametrize(("flag", "struct", "is_known"), KNOWN, ids=[f"{flag} {struct}" for flag, struct, _ in KNOWN])
def test_math_h_leaves_structs_known_that_do_not_depend_on_the_evaluation_of_floats(flag, struct, is_known, tmp_path):
    (tmp_path / "a.c").write_text(MATH)
    done = run("show", tmp_path / "a.c", struct, "--", "--target=x86_64-linux-gnu", flag)
    assert ("unreliable" not in done.stdout + done.stderr) is is_known, done.stderr


def test_arrays_are_known_as_structs_are_if_another_struct_depends_on_a_macro(tmp_path):
    depends = "#if __FP_FAST_FMA\nstruct other { long a; };\n#else\nstruct other { char a; };\n#endif\n"
    (tmp_path / "a.c").write_text(f"{depends}#include <pthread.h>\npthread_mutex_t locks[8];\nstruct other o;\n")
    done = run("check", tmp_path / "a.c", "--pack", "generic", "--format", "concise", "--", "--target=x86_64-linux-gnu", "-mfma")
    assert "variable locks is broken" in done.stdout


PROCESSORS = [f"-mcpu=cortex-{name}" for name in ("m0", "m0plus", "m3", "m4", "m7", "m23", "m33", "m55", "a5", "a7", "a8", "a9", "a15", "a53", "r5", "r52")]
PROCESSORS += [f"-march={name}" for name in ("armv6-m", "armv7-m", "armv7e-m", "armv8-m.base", "armv8-m.main", "armv7-a", "armv7-r", "armv8-a")]
UNITS = ["", "-mfloat-abi=soft", "-mfpu=fpv4-sp-d16 -mfloat-abi=hard", "-mfpu=fpv5-d16 -mfloat-abi=hard", "-mfpu=neon -mfloat-abi=softfp", "-mfpu=auto", "-mabi=aapcs", "-mabi=aapcs-linux"]
TYPES = r"__(?:U?INT(?:PTR|MAX|\d+)|WCHAR|SIZE|PTRDIFF)_TYPE__"


@pytest.mark.exhaustive
@pytest.mark.parametrize("compiler", ["arm-none-eabi-gcc", "arm-linux-gnueabihf-gcc"])
@pytest.mark.parametrize("processor", PROCESSORS)
def test_macros_that_are_certain_for_a_processor(processor, compiler):
    """GCC and libclang agree on them, with and without Thumb, and with each kind of floating-point unit."""
    if not flag_oracle.installed_compilers((compiler,)):
        pytest.skip(f"{compiler} is not here, or does not work")
    target = compiler.removesuffix("-gcc")
    compared = 0
    for mode in ("-mthumb", "-marm"):
        for unit in UNITS:
            words = (processor, mode, *unit.split())
            own = flag_oracle.macros(compiler, *words)
            read = flag_oracle.flags.normalise((f"--target={target}", *words))
            if own is None or read.problem:
                continue
            certain = option_table._CORTEX_M if processor.startswith(("-mcpu=cortex-m", "-march=armv6-m", "-march=armv7")) else option_table._CORTEX
            names = tuple(name for name in {*own, *NEVER} if re.fullmatch(rf"{certain}|{TYPES}", name))
            here = flag_oracle.libclang_meanings(read.passed, names)
            if here is not None:
                assert {name: (own.get(name), here.get(name)) for name in names if not flag_oracle._agree(_width(own.get(name)), _width(here.get(name)))} == {}
                compared += 1
    assert compared


NEVER = ("__thumb__", "__thumb2__", "__ARM_PCS_VFP", "__VFP_FP__", "__ARM_FEATURE_DSP", "__ARM_ARCH_7EM__")


def _width(value: str | None) -> str | None:
    """A type without a `long` that changes nothing: it is as wide as `int` on ARM."""
    return value and value.replace("long long", "wide").replace("long ", "")
