"""The effects of the options of GCC and clang on C text: an allow-list, checked against the compilers.

Every option is on a list here, or layouts under it are unknown. The exhaustive test of these tables asks each
installed compiler for all its options, and for the macros and layouts under each of them.
(GCC manual, "Option Summary"; clang's command line reference.)
"""

from __future__ import annotations

import os
import re
from functools import cache

LONG = {
    "--include": "-include", "--imacros": "-imacros", "--define-macro": "-D", "--undefine-macro": "-U",
    "--include-directory": "-I", "--include-directory-after": "-idirafter", "--include-prefix": "-iprefix",
    "--include-with-prefix": "-iwithprefix", "--include-with-prefix-after": "-iwithprefix",
    "--include-with-prefix-before": "-iwithprefixbefore", "--language": "-x", "--prefix": "-B",
    "--for-assembler": "-Xassembler", "--for-linker": "-Xlinker", "--assert": "-A", "--output": "-o",
    "--library-directory": "-L", "--entry": "-e", "--force-link": "-u", "--dumpbase": "-dumpbase",
    "--dumpbase-ext": "-dumpbase-ext", "--dumpdir": "-dumpdir",
    "--system-header-prefix": "--system-header-prefix", "--specs": "-specs",
}  # fmt: skip
"""Long options with a value, which stands behind `=` or is the next word, by the short ones."""
LONG_ALONE = {
    "--ansi": "-ansi", "--no-standard-includes": "-nostdinc", "--optimize": "-O", "--trigraphs": "-trigraphs",
    "--traditional": "-traditional", "--traditional-cpp": "-traditional-cpp", "--debug": "-g",
    "--pedantic": "-w",
    "--pedantic-errors": "-w", "--no-warnings": "-w", "--all-warnings": "-w", "--extra-warnings": "-w",
    "--compile": "-c", "--assemble": "-S", "--preprocess": "-E", "--verbose": "-v", "--pipe": "-pipe",
    "--profile": "-pg", "--coverage": "-coverage", "--static": "-static", "--shared": "-shared",
    "--comments": "-C", "--comments-in-macros": "-CC", "--no-line-commands": "-P",
    "--save-temps": "-save-temps",
    "--dependencies": "-M", "--user-dependencies": "-MM", "--print-missing-file-dependencies": "-MG",
    "--no-integrated-cpp": "-no-integrated-cpp", "--pass-exit-codes": "-pass-exit-codes", "--pie": "-pie",
    "--static-pie": "-static-pie", "--no-pie": "-no-pie", "--no-sysroot-suffix": "-no-sysroot-suffix",
    "--no-standard-libraries": "-nostdlib", "--nostdlib": "-nostdlib",
    "--no-default-config": "-no-default-config",
}  # fmt: skip
_JOINED_LONG = {
    "--std": "-std",
    "--optimize": "-O",
    "--debug": "-g",
    "--warn": "-W",
    "--machine": "-m",
    "--param": "--param",
}

PATHS = (
    "-I", "-isystem", "-iquote", "-idirafter", "-iprefix", "-iwithprefixbefore", "-iwithprefix",
    "-iwithsysroot", "-isysroot", "--sysroot", "-F", "-iframework",
)  # fmt: skip
"""Options that say where headers are."""
VALUED = (*PATHS, "-D", "-U", "-include", "-imacros", "-x", "-target", "-arch", "-B", "-A")
"""Options with a value that counts, which stands right behind them or is the next word."""
_DROPPED_WITH_VALUE = frozenset((
    "-o", "-MF", "-MT", "-MQ", "-MJ", "-Xlinker", "-Xassembler", "-Xanalyzer", "-mllvm", "-L", "-l", "-T",
    "-u",
    "-z", "-h", "-e", "-aux-info", "-dumpbase", "-dumpbase-ext", "-dumpdir", "-G", "-wrapper", "--param",
    "-framework", "--serialize-diagnostics", "-serialize-diagnostics", "-dependency-file", "-rpath", "-Tbss",
    "-Tdata", "-Ttext", "-install_name", "-current_version", "-compatibility_version", "-resource-dir",
    "-index-store-path", "-gen-cdb-fragment-path", "-fdebug-compilation-dir",
    "-undefined", "-filelist", "-ftrapv-handler", "-stdlib++-isystem", "-cxx-isystem",
    "-diagnostic-log-file", "-unwindlib",
))  # fmt: skip
"""Options whose next word belongs to them, and which concern output, the linker or the assembler only."""
_UNSAFE_WITH_VALUE = frozenset((
    "--config", "-include-pch", "-ivfsoverlay", "-working-directory", "-fmodule-file", "-Xopenmp-target",
    "-Xcuda-ptxas", "-Xcuda-fatbinary", "-Xarch_host", "-Xarch_device", "-load", "-plugin", "-add-plugin",
    "-imultilib", "-imultiarch", "-gcc-toolchain", "-triple", "-target-cpu", "-target-feature", "-target-abi",
    "-V", "-b", "-specs", "-isystem-after", "-c-isystem", "-mthread-model", "-fnew-alignment",
))  # fmt: skip
"""Options whose next word belongs to them, and that are neither passed nor known to be harmless."""
SEPARATE = frozenset(VALUED) | _DROPPED_WITH_VALUE | _UNSAFE_WITH_VALUE

_PASSED = r"""-(?:ansi|trigraphs|undef|pthread|nostdinc|nostdlibinc|nobuiltininc)
    | -std=[\w:+-]+ | -O(?:[0-9]+|s|z|g|fast)?
    | -m(?:16|32|64|x32|be|le|EB|EL|big-endian|little-endian|endian=\w+|thumb|arm|thumb-interwork)
    | -mabi=(?!apcs|atpcs|iwmmxt)[\w.+,-]+ | -m(?:arch|cpu|fpu|float-abi|cmodel|tune)=[\w.+,-]+
    | -m(?:no-)?(?:hard-float|soft-float|ms-bitfields|align-double|general-regs-only|80387)
    | -mlong-double-(?:64|80|128)
    | -m(?:no-)?(?:sse[\w.]*|ssse3|avx[\w.-]*|avxvnni\w*|mmx|3dnowa?|altivec|vsx|crypto|htm|float128
    |vx
      |adx|aes|amx-\w+|bmi2?|cldemote|clflushopt|clwb|clzero|cmpccxadd|crc32|crc|cx16|enqcmd|f16c|fma4?
      |fsgsbase|fxsr
      |gfni|hreset|invpcid|kl|lwp|lzcnt|movbe|movdir64b|movdiri|mwaitx|pclmul|pconfig|pku|popcnt|prefetchi
      |prefetchwt1|prfchw|ptwrite|raoint|rdpid|rdpru|rdrnd|rdseed|rtm|sahf|serialize|sgx|sha512|sha|shstk
      |sm3|sm4
      |tbm|tsxldtrk|uintr|vaes|vpclmulqdq|waitpkg|wbnoinvd|widekl|xop|xsave\w*|x87|usermsr|evex512|apxf
      |abicalls|msa|dsp|dspr2|micromips|mips16)
    | -mbranch-protection=[\w+-]+ | -msign-return-address=[\w-]+ | -msve-vector-bits=\w+
    | -mrvv-vector-bits=\w+
    | -mvscale-(?:min|max)=\d+ | -mabs=\w+ | -mnan=\w+ | -mfp(?:32|64|xx) | -mips\w+ | -m(?:single
    |double)-float
    | -f(?:no-)?(?:short-enums|short-wchar|pack-struct|signed-char|unsigned-char|ms-extensions
    |ms-compatibility
      |blocks|gnu89-inline|openmp|openmp-simd|declspec|pic|PIC|pie|PIE|exceptions|fast-math|math-errno
      |finite-math-only|signed-zeros|trapping-math|associative-math|reciprocal-math|unsafe-math-optimizations
      |rounding-math|stack-protector(?:-strong|-all)?|freestanding|hosted|asm|inline|gnu-keywords
      |double-square-bracket-attributes|cx-limited-range|cx-fortran-rules|asynchronous-unwind-tables
      |unwind-tables|dwarf2-cfi-asm|char8_t|wchar|native-half-type|fixed-point|altivec
      |lax-vector-conversions
      |protect-parens|honor-nans|honor-infinities|approx-func)
    | -fsigned-bitfields | -funsigned-bitfields | -fpack-struct=\d+ | -fms-compatibility-version=[\d.]+
    | -frandomize-layout-seed(?:-file)?=.+ | -fgnuc-version=[\d.]+ | -fcf-protection(?:=(?:full|branch
    |return|none))?
    | -fcf-runtime-abi=\w+ | -fno-cf-protection | -fopenmp=\w+ | -fopenmp-version=\d+
    | -fclang-abi-compat=[\w.]+
    | -fstrict-flex-arrays(?:=\d)? | -fno-strict-flex-arrays | -fgnu-version=[\d.]+
    | -fdenormal-fp-math=[\w,-]+
    | --gcc-toolchain=.+ | --gcc-install-dir=.+"""
"""Options that libclang has, and that define macros or change layouts."""
_UNTAKEN = frozenset((
    "-fhosted", "-fno-freestanding", "-fno-inline", "-finline", "-funsigned-bitfields", "-fcx-fortran-rules",
    "-fdwarf2-cfi-asm", "-fwchar", "-fchar8_t", "-fno-char8_t", "-fno-cf-protection", "-mthumb-interwork",
    "-msse2avx", "-mno-sse2avx", "-mno-sse5", "-mno-avx5124fmaps", "-mno-avx5124vnniw", "-msseregparm",
    "-mavx256-split-unaligned-load", "-mno-avx256-split-unaligned-load", "-mavx256-split-unaligned-store",
    "-mno-avx256-split-unaligned-store",
))  # fmt: skip
_X86_MACHINES = r"(?:x86_64|amd64|i[3-9]86)\b"
_UNTAKEN_BY_MACHINE = (
    (r"-mhard-float", _X86_MACHINES), (r"-mfpu=auto|-mgeneral-regs-only", r"(?:arm|thumb)(?!64)"),
    (r"-mlong-double-128", r"s390x|sparc64"),
)  # fmt: skip
"""Options that GCC has for a machine and libclang has not, and that change no layout there."""
LINKER_SPECS = frozenset(f"{name}.specs" for name in (
    "nosys", "rdimon", "rdimon-v2m", "rdpmon", "linux", "pid", "redboot", "iq80310", "aprofile-ve",
    "aprofile-ve-v2m", "aprofile-validation", "aprofile-validation-v2m",
))  # fmt: skip
"""Newlib's `-specs=` that concern the linker only."""
SMALL_LIBRARY_SPECS = "nano.specs"
"""Newlib's `-specs=` for its small variant, whose headers are in a folder of their own."""

# What GCC and clang do not agree on under an option, so that libclang's answer may not be that of the
# compiler which was used: the names of the macros. Where no text mentions one of them the option is harmless.
BARE_ALIGNED = r"(?:__)?aligned(?:__)?(?=\s*(?:\)\s*\)|,))"
"""`__attribute__((aligned))`, which aligns to what GCC calls __BIGGEST_ALIGNMENT__."""
_MATH = (
    r"__(?:GCC_IEC_559\w*|STDC_IEC_\w+|ASSOCIATIVE_MATH__|NO_SIGNED_ZEROS__|NO_TRAPPING_MATH__)"
    r"|__RECIPROCAL_MATH__"
)
_CFI = r"__GCC_HAVE_DWARF2_CFI_ASM"
_EVALUATION = r"__FLT_EVAL_METHOD\w*|__(?:SSE2?|AVX|FP)_MATH__"
_WIDE = (
    rf"__BIGGEST_ALIGNMENT__|{BARE_ALIGNED}|__FP_FAST_FMA(?!L)\w*|__F16C__|__FMA__|__AVX512(?:BW"
    r"|DQ|VL|VP2INTERSECT|F)__|__AVX10\w*|__EVEX\w+"
)
_X86_NAMES = (
    r"__(?:tune_)?(?:k6\w*|k8\w*|nocona|core\w*|nehalem|westmere|sandybridge|ivybridge|haswell|broadwell"
    r"|skylake\w*"
    r"|cannonlake|icelake\w*|cascadelake|cooperlake|tigerlake|sapphirerapids|alderlake|rocketlake"
    r"|bonnell|atom|slm"
    r"|silvermont|goldmont\w*|tremont|sierraforest|grandridge|graniterapids\w*|emeraldrapids|meteorlake"
    r"|arrowlake\w*"
    r"|lunarlake|pantherlake|clearwaterforest|raptorlake|gracemont|knl|knm|geode|athlon\w*|pentium\w*"
    r"|i[456]86|amdfam10"
    r"|barcelona|bdver\d|btver\d|znver\d|lujiazui|yongfeng|shijidadao|c3\w*|lakemont|winchip\w*"
    r"|opteron\w*?)(?:__)?"
)
_PROCESSOR = (
    rf"{_X86_NAMES}|{_WIDE}|__(?:ABM|LAHF_SAHF|SGX|AVX5124\w+|AES|PCLMUL|3dNOW(?:_A)?|LWP|TBM|PRFCHW"
    r"|MOVBE|RDRND|RDSEED|ADX|CLFLUSHOPT|PKU|PTWRITE|UINTR|WAITPKG|KL|WIDEKL|SHSTK|PREFETCHWT1"
    r"|AVX512[EP][RF]|XSAVE\w*|CLDEMOTE|HRESET|ENQCMD|AMX_\w+|RTM|HLE|FSGSBASE|SHA\w*|GFNI|VAES"
    r"|VPCLMULQDQ|CRC32|POPCNT|LZCNT|SSE4A|XOP|FMA4|TSXLDTRK|SERIALIZE|PCONFIG|WBNOINVD|MOVDIR\w+|CLWB"
    r"|CLZERO|MWAITX|RDPID|MWAIT|SM[34]|AVXVNNI\w*|AVXIFMA|AVXNECONVERT|CMPCCXADD|PREFETCHI|RAOINT"
    r"|USER_MSR|RDPRU|INVPCID)__"
)
_EARLY = r"(?:x86-64(?:-v2)?|nocona|core2|nehalem|corei7|westmere)"
"""Processors without AVX: GCC 11 and 12 and clang 13 to 22 define the same macros but for these."""
_EARLY_PROCESSOR = rf"{_X86_NAMES}|__(?:ABM|AES|CRC32|LAHF_SAHF|LZCNT|PCLMUL|POPCNT|PRFCHW)__"
_FEATURES = (
    rf"{_PROCESSOR}|__(?:SSE\w*|SSSE3|AVX\w*|BMI2?|MMX\w*|F?XS[AR]\w*|\w*VNNI\w*"
    r"|GCC_HAVE_SYNC_COMPARE_AND_SWAP_\d+|(?:SSE2?|AVX|FP)_MATH)__|__GCC_HAVE_SYNC_COMPARE_AND_SWAP_\d+|\b_SOFT_FLOAT"
)
EVALUATION_METHOD = r"__FLT_EVAL_METHOD\w*"
"""The macros of which libraries choose `float_t`: 16 with -mavx512fp16 for GCC, 2 on i386 without SSE."""
EVALUATION_METHODS = ("-1", "0", "2", "16")
FEATURE_MACROS = rf"(?!__BIGGEST_ALIGNMENT__|{EVALUATION_METHOD})(?:{_FEATURES}|{_EVALUATION})"
"""Those of them that are 1 or not defined."""
_ELSEWHERE = (
    r"__(?:ARM_\w+|AARCH64\w*|VFP\w*|thumb2?__|mips\w*|riscv\w*|PPC\w*|POWER\d\w*|ALTIVEC__|VSX__|VEC\w*"
    r"|s390\w*|HTM__|VX__|ARCH__|loongarch\w*|sparc\w*|VIS\w*|FP_FAST\w*|TM_FENCE__|RSQRTE\w*|RECIP\w*"
    r"|QUAD_MEMORY\w*|CRYPTO__|FLOAT128\w*|SIZEOF_FLOAT128__|STRUCT_PARM\w*|CMODEL\w*|NO_FPRS__|SPE__"
    r"|LONG_DOUBLE_(?:64|128|IBM128|IEEE128|VX)__|GCC_HAVE_SYNC\w*|GCC_ASM_FLAG\w*|MMA__|PCREL__"
    r"|ROP_PROTECT__|APPLE_ALTIVEC__|BIGGEST_ALIGNMENT__)|\b_(?:MIPS|ARCH|CALL|SOFT)_\w+|\b_SOFT_\w+"
    r"|__(?:(?:FLT\w*|DBL|LDBL)_(?:NORM_MAX|IS_IEC_60559)|FLT(?:16|32|64|128)X?_\w+|FLOAT_WORD_ORDER"
    r"|SIZEOF_IEEE128"
    r"|GNUC_WIDE_EXECUTION_CHARSET_NAME|GCC_IEC_559\w*|GCC_ATOMIC_\w+_LOCK_FREE"
    r"|U?LLACCUM_\w+|THUMBE[BL]|THUMB_INTERWORK)(?:__)?|__K[CF]__|_?R3000|__R3000\w*|_RELOCATABLE"
    r"|__builtin_\w+q|__float128"
)
"""Macros of other machines than x86."""
_TYPES_ELSEWHERE = rf"{_ELSEWHERE}|__(?:U?INT_FAST\w+|U?INTPTR_TYPE|WCHAR_TYPE)__"
"""These, and types that an ABI can change; no processor does."""
_BY_MACHINE = (
    (r"arm|thumb|aarch64", r"__(?:ARM_\w+|AARCH64\w*|VFP\w*|thumb\w*|THUMB\w*)"),
    (r"mips", r"__mips\w*|_MIPS_\w+"), (r"riscv", r"__riscv\w*"), (r"loongarch", r"__loongarch\w*"),
    (r"powerpc|ppc", r"__(?:PPC|POWER\d|ALTIVEC__|APPLE_ALTIVEC__|SPE__|NO_FPRS__|VSX__|RSQRTE|RECIP"
     r"|QUAD_MEMORY|STRUCT_PARM|MMA__|PCREL__|ROP_PROTECT__|TM_FENCE__)\w*|_(?:ARCH|CALL)_\w+|__float128"),
    (r"s390", r"__s390\w*"), (r"sparc", r"__(?:sparc|VIS)\w*"),
)  # fmt: skip
"""Macros that no compiler defines for another machine."""
_CORTEX = (
    r"__ARM_(?:ARCH|ARCH_(?:6M|7M|7EM|8M_BASE)__|FEATURE_(?:CLZ|CMSE|DSP|IDIV|QBIT|SAT|SIMD32)|PCS_VFP|EABI__)"
    r"|__VFP_FP__|__GCC_ATOMIC_\w+_LOCK_FREE"
)
_CORTEX_M = rf"{_CORTEX}|__thumb2?__|__THUMBE[BL]__"
_AGREED = (
    (r"-mcpu=cortex-[ar][^+]*|-march=armv[78][\w.]*-[ar]", _CORTEX),
    (r"-mcpu=cortex-m[^+]*|-march=armv(?:6s?-m|7e?-m|8-m\.(?:base|main))|-mthumb|-marm|-mfpu=[\w.+-]+"
     r"|-mfloat-abi=\w+|-mabi=aapcs(?:-linux)?|-mthumb-interwork", _CORTEX_M),
)  # fmt: skip
"""What GCC and libclang agree on under an option for ARM."""

MACHINE_MACROS = (
    r"-m(?:no-)?(?:avoid-indexed-addresses|cmpb|eva|fp16-format|fmaf|fprnd|full-toc|hard-dfp|llsc"
    r"|loongson-\w+"
    r"|lxc1-sxc1|madd4|mfcrf|minimal-toc|modulo|paired-single|popcnt[bd]|power\d+-\w+|powerpc-g\w*opt"
    r"|quad-memory-atomic|recip-precision|relocatable(?:-lib)?|rop-protect|smartmips|synci|toc"
    r"|unaligned-access"
    r"|vis[234]?b?|f?div)(?:=.*)? | -misa-spec=.*"
)
"""Options that define macros, and do nothing else to C text, on other machines than x86."""
_DRAFT_VERSION = (
    r"__STDC_VERSION__(?=\s*(?:[=!<>]=|[<>]))(?!\s*(?:[=!<>]=|[<>])\s*(?:199|20[01])\d{3}[Ll]?(?!\w))"
    r"(?!\s*(?:>=|<)\s*202000[Ll]?(?!\w))"
)
"""Comparisons that drafts of C23 decide differently: GCC 14 and clang 17 say 202000L where later ones say
202311L, and none says less."""
_EVERY, _X86, _I386, _OTHER = range(4)
"""Machines; those of _I386 are among those of _X86."""
_HALF_PRECISION = r"(?:sapphirerapids|graniterapids.*|emeraldrapids|diamondrapids|novalake|.*native.*)"
"""Processors with AVX512-FP16, for which GCC evaluates `_Float16` in its own range."""
_DOUBTS = (
    (r"-Ofast | -f(?:no-)?(?:fast-math|math-errno|finite-math-only|signed-zeros|trapping-math"
     r"|associative-math"
     r"|reciprocal-math|unsafe-math-optimizations|rounding-math|signaling-nans|single-precision-constant"
     r"|cx-limited-range|cx-fortran-rules|honor-nans|honor-infinities|approx-func)"
     r"| -fexcess-precision=(?!(?:standard|fast)$)\w+"
     r"| -ffp-(?:model|contract|eval-method|exception-behavior)=\w+ | -mgeneral-regs-only "
     r"| -fdenormal-fp-math=.*",
     rf"{_MATH}|{_EVALUATION}", _EVERY),
    (r"-ffreestanding | -fno-hosted | -f(?:no-)?(?:asynchronous-)?unwind-tables | -f(?:no-)?dwarf2-cfi-asm"
     r"| -f(?:no-)?exceptions | -undef", _CFI, _EVERY),
    (r"-(?:std=(?:c|gnu|iso9899:).* | ansi)",
     r"__STDC_UTF_\d+__|__STDC_VERSION_STD\w+__|__STDC_ISO_10646__", _EVERY),
    (r"-f(?:no-)?openacc | -fopenacc-dim=.* | -fgnu-tm | -f(?:no-)?openmp(?:=.*)?"
     r"| -ftree-parallelize-loops=\d+",
     r"\b_REENTRANT\b|\b_OPENACC\b", _EVERY),
    (r"-fstack-protector-(?:strong|all)", r"__SSP_\w+(?=\s*(?:[=!<>]=|[<>]))", _EVERY),
    (r"-fopenmp(?:=.*|-simd)?", r"\b_OPENMP(?=\s*(?:[=!<>]=|[<>]))", _EVERY),
    (r"-f(?:no-)?non-call-exceptions", r"__EXCEPTIONS", _EVERY),
    (r"-fabi-version=\d+", r"__GXX_ABI_VERSION", _EVERY),
    (r"-f(?:no-)?leading-underscore", r"__USER_LABEL_PREFIX__", _EVERY),
    (r"-f(?:no-)?building-libgcc", r"__LIBGCC_\w+", _EVERY),
    (r"-f(?:no-)?short-wchar", r"__GNUC_WIDE_EXECUTION_CHARSET_NAME|__WCHAR_MIN__", _EVERY),
    (r"-fwide-exec-charset=.*", r"__GNUC_WIDE_EXECUTION_CHARSET_NAME", _EVERY),
    (r"-fexec-charset=.*", r"__GNUC_EXECUTION_CHARSET_NAME", _EVERY),
    (r"-mno-shstk | -mno-cet.*", r"__CET__", _X86),
    (r"-m(?:no-)?(?:80387|soft-float|hard-float|general-regs-only|x87|sse2?|mmx) | -mfpmath=.*",
     rf"\b_SOFT_FLOAT\b|{_EVALUATION}|__FLT16_\w+|__SIZEOF_FLOAT80__|__(?:GCC|STDC)_IEC\w+", _EVERY),
    (r"-m(?:no-)?(?:avx.*|f16c|fma4?|xop|evex512|sm[34]|sha512|prefer-vector-width=.*)", _WIDE, _X86),
    (r"-m(?:no-)?amx-.*", r"__AMX_TILE__|__XSAVE__", _X86),
    (r"-m(?:no-)?(?:vaes|vpclmulqdq|avx10.*)",
     r"__(?:AVX2?|VAES|VPCLMULQDQ|SSE\w+|SSSE3|CRC32|POPCNT|XSAVE\w*|PCLMUL|AES|KL|3dNOW\w*)__", _X86),
    (rf"-march={_EARLY}", _EARLY_PROCESSOR, _X86),
    (rf"-march=(?!{_EARLY}\Z).* | -mcpu=.*", _PROCESSOR, _X86),
    (r"-mtune=.*", _X86_NAMES, _X86),
    # With 64 bits, only half-precision arithmetic decides how other types are evaluated.
    (r"-m(?:no-)?(?:avx.*|f16c|fma4?|xop|evex512|sm[34]|sha512|prefer-vector-width=.*) | -m(?:arch|cpu)=.*",
     _EVALUATION, _I386),
    (rf"-m(?:no-)?avx(?:512fp16|10.*) | -m(?:arch|cpu)={_HALF_PRECISION}", _EVALUATION, _X86),
    (r"-m(?:arch|cpu|tune)=.*", _ELSEWHERE, _OTHER),
    (r"-mabi=(?!aapcs).* | -m(?:be|le|big-endian|little-endian)", _TYPES_ELSEWHERE, _OTHER),
    (r"-mabi=aapcs.* | -mfpu=.* | -mfloat-abi=.* | -mcmodel=.*"
     r"| -m(?:no-)?(?:altivec|vsx|crypto|htm|float128|vx|fdiv|div|crc|msa|dsp|dspr2|micromips"
     r"|mips16|abicalls)"
     r"| -mbranch-protection=.* | -msign-return-address=.* | -mabs=.* | -mnan=.* | -mfp(?:32|64|xx) "
     r"| -mips\w+"
     r"| -m(?:single|double)-float | -msve-vector-bits=.* | -m(?:soft|hard)-float | -mlong-double-\d+ "
     r"| -mthumb | -marm"
     r"| -mthumb-interwork | -mgeneral-regs-only", _ELSEWHERE, _OTHER),
    (MACHINE_MACROS, _ELSEWHERE, _OTHER),
    (r"-m(?:big|little)", _ELSEWHERE, _OTHER),
    (r"-m?E[BL]|-me[bl]", r"__FLOAT_WORD_ORDER__|__GNUC_WIDE_EXECUTION_CHARSET_NAME", _OTHER),
    (r"-m(?:32|64)", rf"{_TYPES_ELSEWHERE}|PPC|(?:__)?powerpc", _OTHER),
    (r"-m(?:16|31|32|64|x32|zarch|esa)",
     r"__(?:FLT(?:16|64X)_\w+|tune_\w+|k8(?:__)?|GCC_HAVE_SYNC_COMPARE\w+)", _EVERY),
    (r"-m(?:16|32|x32)",
     r"__(?:SSE2?|MMX|FXSR|SSE2?_MATH)__|__(?:pentium\w*|i[56]86\w*|U?INT_FAST\d+_\w+|SIZEOF_FLOAT80__"
     rf"|code_model_\w+)|{_EVALUATION}", _X86),
    (r"-fpack-struct(?:=\d+)?", r":\s*0\s*(?=[;,])", _EVERY),
    (r"-undef", rf"__tune_\w+|{_EVALUATION}", _EVERY),
    (r"-std=(?:c|gnu)2\w", rf"{_DRAFT_VERSION}|__\w*CHAR8_T\w*|__\w+_FMT[bB]__", _EVERY),
    (r"-f(?:no-)?fixed-point", r"__\w*(?:ACCUM|FRACT)_\w+", _EVERY),
    (r"-m(?:no-)?apxf?", r"__(?:APX_F|CCMP|NF|ZU|EGPR|PUSH2POP2|PPX|NDD|CF|INLINE_ASM_USE_GPR32)__", _X86),
    (r"-mlong-double-\d+", r"__LONG_DOUBLE_\w+__|__(?:FLT64X|LDBL)_\w+|__DECIMAL_DIG__", _EVERY),
    (r"-f(?:profile|cs-profile|auto-profile|coverage|instrument).*", r"__LLVM_INSTR_PROFILE_\w+", _EVERY),
    (r"-m(?:arch|cpu|tune)=.*native.*", _FEATURES, _X86),
    (r"-m(?:arch|cpu|tune)=.*native.*", rf"{_ELSEWHERE}|vector_size|__vector_size__", _OTHER),
)  # fmt: skip

FEATURED = (
    "address",
    "kernel-address",
    "hwaddress",
    "kernel-hwaddress",
    "thread",
    "memory",
    "leak",
    "undefined",
)
"""Sanitizers that libclang takes for the machines below, for which `__has_feature` then says so."""
FEATURED_MACHINES = ("x86_64", "aarch64", "arm64", "amd64")
NO_MACRO = r"\W|\w+_sanitizer|safe_stack|shadow_call_stack|memtag|kcfi|cfi_"
"""The starts of names of DOUBTS that are no macros, but syntax or features."""
SANITIZER_NAMES = r"\w+_sanitizer|__SANITIZE_\w+|safe_stack|shadow_call_stack|memtag_\w+|kcfi\w*|cfi_\w+"

MACROS = {
    "-fsanitize=address": ("-D__SANITIZE_ADDRESS__=1",),
    "-fsanitize=kernel-address": ("-D__SANITIZE_ADDRESS__=1",),
    "-fsanitize=hwaddress": ("-D__SANITIZE_HWADDRESS__=1",),
    "-fsanitize=kernel-hwaddress": ("-D__SANITIZE_HWADDRESS__=1",),
    "-fsanitize=thread": ("-D__SANITIZE_THREAD__=1",),
    "-fstack-protector-explicit": ("-D__SSP_EXPLICIT__=4",), "-posix": ("-D_POSIX_SOURCE",),
    "-frounding-math": ("-D__ROUNDING_MATH__=1",), "-fsignaling-nans": ("-D__SUPPORT_SNAN__=1",),
    "-fgnu-tm": ("-D_REENTRANT=1",),
}  # fmt: skip
"""What options define that libclang has not, or under which it defines less than GCC."""
RENAMED = {
    "-fplan9-extensions": ("-fms-extensions",), "-pthreads": ("-pthread",),
    "-fno-hosted": ("-ffreestanding",),
    "-fhandle-exceptions": ("-fexceptions",),
    "-fno-handle-exceptions": ("-fno-exceptions",), "-mbig": ("-mbig-endian",),
    "-mlittle": ("-mlittle-endian",),
    "-meb": ("-mbig-endian",), "-mel": ("-mlittle-endian",),
    "-EB": ("-mbig-endian",), "-EL": ("-mlittle-endian",), "-mabm": ("-mlzcnt", "-mpopcnt", "-D__ABM__=1"),
}  # fmt: skip
"""What libclang calls an option."""

_FAMILIES = r"""
    -W(?![pal],).* | -w | -W[al],.* | -pedantic(?:-errors)? | -g(?:no-)?(?!natO|cc-toolchain)[\w.=+,:/-]*
    | -M(?:M|D|MD|G|P|V|no-modules)? | -M[FTQJ].+ | -[cSEvCPHQ] | -CC | -\#\#\# | -pipe | -d[A-Z]+ | -d
    | -p | -pg | -s | -r
    | -n | -t | -N | -no-?pie | -(?:static|shared|rdynamic|symbolic|pie|static-pie|coverage|time
    |tno-android-cc)
    | -static-\w+ | -shared-libgcc | -shared-\w+ | -save-temps(?:=.*)? | -no-integrated-(?:cpp|as)
    | -integrated-as
    | -nostdlib(?:\+\+)? | -nodefaultlibs | -nostartfiles | -nolibc | -no-canonical-prefixes
    | -pass-exit-codes
    | -no-default-config | -no-sysroot-suffix | -canonical-prefixes | -Qunused-arguments | -Qn | -Qy
    | -emit-\w+[\w-]*
    | -fsyntax-only | -[lLTuzeo].+ | --param=.+ | -time=.* | -dump.* | -aux-info=.* | -fdump-.*
    | -fdiagnostics-.*
    | -fno-diagnostics-.* | -f(?:no-)?(?:tree|ipa|debug|sched|analyzer|lto|save-optimization-record
    |caret-diagnostics
      |show-[a-z-]+|color-diagnostics|elide-type|ansi-escape-codes|message-length|macro-backtrace-limit
      |template-\w+[\w-]*|constexpr-[\w-]+|spell-checking-limit|bracket-depth)(?:[=-].*)?
    | -fplugin-arg-.* | -f(?:opt-info|verbose-asm|stack-usage|callgraph-info|compare-debug|dwarf|eliminate
    |mem-report
      |time-report|time-trace|temp-file|random-seed|working-directory|record-gcc-switches
      |record-command-line|ident
      |file-prefix-map|macro-prefix-map|debug-prefix-map|profile-prefix-map|canon-prefix-map|integrated-as
      |integrated-cc1)
      (?:[=-].*)? | -fno-(?:verbose-asm|ident|dwarf.*|eliminate.*|record-gcc-switches|working-directory
      |integrated-as|integrated-cc1|time-trace|temp-file|compare-debug)
    | -fprofile-(?:generate|use|dir|arcs|values|note|update|filter-files|exclude-files|reproducible|abs-path
    |correction
      |partial-training|instr-generate|instr-use|sample-use|sample-accurate|list|selected-function-group
      |function-groups)(?:=.*)?
    | -f(?:cs-profile-\w+|auto-profile|coverage-mapping|test-coverage|instrument-functions)(?:[=-].*)?
    | -fsanitize-[\w-]+(?:=.*)? | -fno-sanitize(?:-[\w-]+)?(?:=.*)? | -fasan-shadow-offset=.* | -fxray-.*
    | -fuse-(?:ld|linker-plugin)(?:=.*)? | -fno-use-linker-plugin | --ld-path=.* | -stdlib=\w+
    | -rtlib=[\w-]+ | --rtlib=[\w-]+
    | -unwindlib=\w+ | --unwindlib=\w+ | -fpass-plugin=.* | -fcrash-diagnostics(?:-dir)?(?:=.*)?
    | -gen-\w+[\w-]*
    | -stdlib=[\w+]+ | --stdlib=[\w+]+ | -static-libstdc\+\+ | -nostdinc\+\+ | -R.* | --(?:start
    |end)-no-unused-arguments
    | -f(?:objc-.*|pcc-struct-return|mem-report.*|test-coverage|auto-profile.*|crash-diagnostics
    |whole-program.*)
    | -resource-dir=.* | -fcomment-block-commands=.* | -fparse-all-comments | -arcmt-.* | -object-file-name=.*
    | -fmodules-cache-path=.* | -fmodules-prune-\w+=.* | -fbuild-session-\w+=.* | -index-store-path=.*
    | --serialize-diagnostics=.* | -serialize-diagnostics=.* | -fno-modules | -Wp,-w
    | -fwhole-program(?:-vtables)?
    | -f(?:no-)?(?:limit-debug-info|standalone-debug|experimental-.*) | -f(?:no-)?builtin-\w+
    | -fcall-(?:saved|used)-\w+ | -f(?:disable|enable)-.* | -ffixed-\w+
    | -finline-limit[=-].*
    | -fzero-call-used-regs=.* | -mmem(?:cpy|set)-strategy=.* | -mtune-ctrl=.* | -fabi-version=\d+
    | -f(?:no-)?(?:leading-underscore|openacc|building-libgcc|signaling-nans|single-precision-constant
      |stack-protector-explicit|gnu-tm|non-call-exceptions) | -fopenacc-dim=.* | -fexcess-precision=\w+
      | -mfpmath=.*
    | -ffp-(?:model|contract|eval-method|exception-behavior)=\w+
    | -fpatchable-function-entry=.* | -mpatchable-function-entry=.* | -x\s*"""
"""Warnings, debug information, dependencies, output, the linker: no macro and no layout depends on them."""

_OFF = r"""-fno-(?:modules|implicit-module-maps|implicit-modules|modul\w+-.*|trigraphs|directives-only|gimple
    |preprocessed
      |signed-bitfields|plan9-extensions|borland-extensions|sycl|openmp-targets|apple-pragma-pack
      |xl-pragma-pack
      |define-target-os-macros|pascal-strings|cuda-.*|gpu-.*|hip-.*|pch-preprocess|digraphs|zos-extensions)
    | -no-pthread"""
"""What is off unless an option turns it on that is not known here."""
_NATIVE = r"-m(?:arch|cpu|tune)=.*native.*"
NEUTRAL_PLUGIN = (
    r"-fplugin=(?:(?:gcc-)?annobin"
    r"|/usr/lib(?:64|exec)?/gcc(?:-cross)?/[\w-]+/[\d.]+/plugin/(?:gcc-)?annobin\.so)"
)
"""A plugin that leaves fields where they are, from the compiler's own folder: GCC searches a name without `.`
and `/` only there (plugin.c, add_new_plugin). Of a plugin elsewhere, the name says nothing.
"""


@cache
def _harmless_names() -> frozenset[str]:
    """The options in harmless_options.txt, without `no-` and values."""
    with open(os.path.join(os.path.dirname(__file__), "harmless_options.txt"), encoding="ascii") as file:
        return frozenset(line for line in file.read().split() if line.startswith("-"))


def is_spelled(pattern: str, word: str) -> bool:
    """Whether an option is as one of these expressions says, which are compiled when an input has options."""
    return re.fullmatch(pattern, word, re.VERBOSE) is not None


def is_passed(word: str) -> bool:
    """Whether libclang takes an option as it is."""
    return is_spelled(_PASSED, word) and word not in _UNTAKEN and not is_native(word)


def is_untaken(word: str, machine: str) -> bool:
    """Whether libclang lacks an option for a machine, and the option changes no layout there."""
    return any(is_spelled(flag, word) and re.match(own, machine) for flag, own in _UNTAKEN_BY_MACHINE)


def is_native(word: str) -> bool:
    """Whether an option asks for what the compiling machine has."""
    return is_spelled(_NATIVE, word)


def is_harmless(word: str) -> bool:
    """Whether no macro and no layout depends on an option, or only macros that DOUBTS has."""
    if word in _UNSAFE_WITH_VALUE:
        return False
    asserted = re.sub("^-([fm])no-", r"-\1", word)
    if is_spelled(_FAMILIES, word) or is_spelled(_FAMILIES, asserted) or is_spelled(_OFF, word):
        return True
    if word in _UNTAKEN or word in _DROPPED_WITH_VALUE:
        return True
    name, positive = word.partition("=")[0], asserted.partition("=")[0]
    is_known = name in _harmless_names() or positive in _harmless_names()
    return is_known or is_spelled(MACHINE_MACROS, word)


def doubts(word: str, machine: str) -> str | None:
    """The names of macros that may not be libclang's under an option, as an expression; None for none."""
    own: tuple[int, ...] = (_EVERY, _OTHER)
    if re.match(_X86_MACHINES, machine):
        own = (_EVERY, _X86, _I386) if machine.startswith("i") else (_EVERY, _X86)
    expressions = [names for flag, names, machines in _DOUBTS if machines in own and is_spelled(flag, word)]
    if not expressions:
        return None
    joined = "|".join(expressions)
    if _ELSEWHERE not in joined:
        return joined
    certain = [names for own_machine, names in _BY_MACHINE if not re.match(own_machine, machine)]
    if re.match(r"(?:arm|thumb)(?!64)", machine):
        certain += (names for flag, names in _AGREED if is_spelled(flag, word))
    return rf"(?!(?:{'|'.join(certain)})(?!\w))(?:{joined})"


def short(word: str) -> tuple[str, ...]:
    """A long option of GCC or clang in short words; the word itself when it is none."""
    name, equals, value = word.partition("=")
    if name in LONG and equals:
        return LONG[name], value
    if not equals and word in LONG:
        return (LONG[word],)
    if not equals and word in LONG_ALONE:
        return (LONG_ALONE[word],)
    if equals and name in _JOINED_LONG:
        joint = "=" if name in ("--std", "--param") else ""
        return (f"{_JOINED_LONG[name]}{joint}{value}",)
    for prefix, letter in (("--warn-", "-W"), ("--machine-", "-m")):
        if word.startswith(prefix):
            return (letter + word[len(prefix) :],)
    if (
        word.startswith("--")
        and not is_passed(word)
        and not is_harmless(word)
        and not word.startswith("--target")
    ):
        as_feature = "-f" + word[2:]  # GCC takes `--fast-math` for `-ffast-math`
        if is_passed(as_feature) or is_harmless(as_feature) or as_feature in MACROS:
            return (as_feature,)
    return (word,)
