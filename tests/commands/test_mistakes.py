"""Plausible mistakes of newcomers: each message says what is wrong, where, and how to mend it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.harness.command import run

RING = """struct slot { int id; };
struct ring {
    unsigned long head;
    unsigned long tail;
    struct slot slot;
};
"""
RULE = """[[rule]]
id = "sides"
struct = "ring"
kind = "separate"
fields = [["head"], ["tail"]]
why = "each side writes its own"
"""
KIND = '[[rule]]\nid = "a"\nstruct = "ring"\nkind = "{}"\nwhy = "w"\n{}\n'
SPLIT = '[["head"], ["tail"]]'
FILES: dict[str, str | bytes] = {
    "ring.h": RING,
    "rules.toml": RULE,
    "struct.toml": RULE.replace('"ring"', '"rnig"'),
    "case.toml": RULE.replace('"ring"', '"Ring"'),
    "flat.toml": RULE.replace(SPLIT, '["head", "tail"]'),
    "one.toml": RULE.replace(SPLIT, '[["head"]]'),
    "kind.toml": RULE.replace('"separate"', '"seperate"'),
    "nokind.toml": RULE.replace('kind = "separate"\n', ""),
    "nowhy.toml": RULE.replace('why = "each side writes its own"\n', ""),
    "field.toml": RULE.replace('"head"', '"hed"'),
    "arrow.toml": RULE.replace('"head"', '"slot->id"'),
    "severity.toml": f'{RULE}severity = "warn"\n',
    "tables.toml": RULE.replace("[[rule]]", "[[rules]]"),
    "table.toml": RULE.replace("[[rule]]", "[rule]"),
    "keyword.toml": RULE.replace('"ring"', '"struct ring"'),
    "id.toml": RULE.replace('"sides"', '"both sides"'),
    "twice.toml": RULE * 2,
    "key.toml": RULE.replace("fields", "feilds"),
    "number.toml": f'{RULE}tolerate = "0.5"\n',
    "unquoted.toml": RULE.replace('"separate"', "separate"),
    "none.toml": RULE.replace(SPLIT, "[]"),
    "ring.py": "def ring(): pass\n",
    "string.toml": RULE.replace(SPLIT, '"head, tail"'),
    "variable.toml": '[[rule]]\nid = "a"\nkind = "neighbours"\nvariables = "lru"\nwhy = "w"\n',
    "allocator.toml": f'[allocators]\nnew_ring = "size"\n{RULE}',
    "comment.toml": f"// rules of the ring\n{RULE}",
    "machine.toml": f"{RULE}line_size = 128\n",
    "empty/compile_commands.json": "[]\n",
    "empty/ring.h": RING,
    "notes/readme.md": "the ring\n",
    "curly.toml": RULE.replace('"ring"', "\u201cring\u201d"),
    "true.toml": f"{RULE}contended = True\n",
    "semicolon.toml": RULE.replace('"ring"', '"ring";'),
    "unit.toml": RULE.replace(SPLIT, "64B"),
    "key-twice.toml": f'{RULE}kind = "together"\n',
    "flat-access.toml": f'{RULE}[struct.ring.fields]\nhead = "hot-write"\n',
    "flat-field.toml": f'{RULE}[struct.ring]\nhead = {{ access = "hot-write" }}\n',
    "when.toml": f'{RULE}when = "x86_64"\n',
    "aligned.toml": f'{RULE}[struct.ring]\nplacement = "aligned(64)"\n',
    "quote.toml": RULE.replace('"sides"', '"sides'),
    "latin.toml": RULE.replace("own", "\xf6wn").encode("latin-1"),
    "off.toml": '[override."sides"]\nenabled = false\n',
    "rules.yaml": "rule:\n  - id: sides\n",
    "rules.json": '{"rule": []}\n',
    "crlf.toml": RULE.replace("\n", "\r\n"),
    "crlf.h": RING.replace("\n", "\r\n"),
    "bom.h": b"\xef\xbb\xbf" + RING.encode(),
    "utf16.h": RING.encode("utf-16"),
    "random.bin": b"\0\1\2\3random",
    "cut.o": b"\x7fELF\2\1\1" + b"\0" * 9,
    "nothing.h": "",
    "lib.a": b"!<arch>\nring.o/         ",
    "report.sarif": "{}\n",
    "empty.rules/notes.txt": "no rules\n",
    "folder/notes.txt": "no C\n",
    "place.toml": f'{RULE}[struct.ring]\nplacement = "cacheline"\n',
    "rule-place.toml": f'{RULE}placement = "line"\n',
    "include.toml": f'{RULE}include = "other.toml"\n',
    "quoted.toml": KIND.format("size", 'max = "64 bytes"'),
    "float.toml": KIND.format("size", "max = 64.0"),
    "guess.toml": KIND.format("offset", 'fields = ["head"]\noffset = 0'),
    "order.toml": KIND.format("order", 'fields = [["head"], ["tail"]]'),
    "group.toml": KIND.format("group", 'group = "rx"'),
    "nothing.toml": RULE.replace('"tail"', '"*_nothing"'),
    "structs.toml": RULE.replace('"ring"', '["ring", "slot"]'),
    "union.toml": RULE.replace('struct = "ring"', 'union = "ring"'),
    "override.toml": f'{RULE}[override]\nsides = "off"\n',
    "severity-off.toml": f'{RULE}[override.sides]\nseverity = "off"\nwhy = "w"\n',
    "colon.toml": RULE.replace("kind =", "kind:"),
    "bracket.toml": RULE.replace(SPLIT, '[["head"], ["tail"]'),
    "apostrophe.toml": RULE.replace('"each side writes its own"', "'each side's own'"),
    "lines.toml": RULE.replace("side writes", "side\nwrites"),
    "pack.toml": f'pack = "generic"\n{RULE}',
    "option.toml": f'{RULE}when = {{ config = "CONFIG_SMP" }}\n',
    "version.toml": f'{RULE}when = {{ version = ">=6.1" }}\n',
    "function.toml": RULE.replace('"ring"', '"push"'),
    "builds.toml": '[[build]]\nname = "a"\nflags = ["-m32"]\n',
    "ignored.h": RING.replace("head;", "head; /* layoutlint: ignore */"),
    "reason.h": RING.replace("head;", "head; /* layoutlint: ignore[sides] */"),
    "bare.h": RING.replace("head;", "head; /* layoutlint: separate */"),
    "capital.h": RING.replace("head;", "head; /* Layoutlint: hot-write */"),
    "hyphen.h": RING.replace("head;", "head; /* layout-lint: hot-write */"),
    "macro.h": RING.replace("head;", "head LAYOUTLINT(hot_write);"),
    "push.c": f"{RING}int push(struct ring *ring) {{ return ring->slot.id; }}\n",
    "open.h": RING.replace("\n};", "\n"),
    "made/config.h.in": "#define N @N@\n",
    "made/meson.build": "project('ring', 'c')\n",
    "made/ring.h": f'#include "config.h"\n{RING}',
    "made/.git/HEAD": "",
    "configured.h": f"#ifdef HAVE_CONFIG_H\n#include <config.h>\n#endif\n{RING.replace('long tail', 'int tail; bool full')}",
    "sub/out/compile_commands.json": "[]",
    "asked.json": "{}\n",
    "change.patch": "--- a/ring.h\n+++ b/ring.h\n",
    "ring.exe": b"MZ\x90\0" + b"\0" * 60,
    "mac.o": b"\xcf\xfa\xed\xfe" + b"\0" * 28,
    "core": b"\x7fELF\2\1\1" + b"\0" * 9 + b"\4\0\x3e\0\1\0\0\0" + b"\0" * 40,
    "ring.pdf": "%PDF-1.4\n",
    "ring.ll": "; ModuleID = 'ring.c'\n",
    "Makefile": "all:\n",
}

NAMES = [
    # the mistake, the arguments, the exit status, parts of the message
    ("a misspelt struct", "show ring.h rnig", 3, ["ring.h: no struct rnig", "did you mean `ring`?"]),
    ("another case", "show ring.h RING", 3, ["no struct RING", "did you mean `ring`?"]),
    ("a field behind the struct", "show ring.h ring.head", 3, ["no struct ring.head", "did you mean `ring`, without the field?"]),
    ("a field of a pointer", "show ring.h 'ring->head'", 3, ["no struct ring->head", "did you mean `ring`, without the field?"]),
    ("a misspelt embedded struct", "containers ring.h solt", 3, ["ring.h: no struct solt", "did you mean `slot`?"]),
    ("a misspelt --struct", "check ring.h --rules rules.toml --struct rnig", 3,
     ["--struct: nothing was judged: no input has a struct rnig", "did you mean `ring`?"]),
    ("a misspelt --struct for guesses", "check ring.h --pack generic --struct rnig", 3,
     ["--struct: nothing was judged: no input has a struct rnig", "did you mean `ring`?"]),
    ("a pattern of nothing for guesses", "check ring.h --pack generic --struct 'rn*'", 3,
     ["--struct: nothing was judged: no struct of the inputs matches rn*"]),
    ("--struct of a struct without rules", "check ring.h --rules rules.toml --struct slot", 3, ["no rule is about struct slot"]),
    ("a pattern without rules", "check ring.h --rules rules.toml --struct 'x*'", 3, ["there is no rule about a struct that matches x*"]),
    ("a misspelt struct in a rule", "check ring.h --rules struct.toml", 3,
     ["struct.toml:1", "struct rnig is in none of the inputs", "did you mean `ring`?"]),
    ("another case in a rule", "check ring.h --rules case.toml", 3, ["struct Ring is in none of the inputs", "did you mean `ring`?"]),
    ("a type that is no struct", "show ring.h long", 3, ["ring.h: no struct long (it has `ring`, `slot`)"]),
    ("arguments of show swapped", "show ring ring.h", 3, ["ring: no such file or directory", "`layoutlint show ring.h ring`"]),
    ("arguments of containers swapped", "containers ring ring.h", 3, ["`layoutlint containers ring.h ring`"]),
]  # fmt: skip

USAGE = [
    ("no input", "check", 2, ["Missing argument 'INPUT...'", "For example: `layoutlint check ring.h --rules layoutlint.toml`"]),
    ("no struct", "show ring.h", 2, ["`layoutlint show ring.h NAME`", "--all"]),
    ("the input behind --", "check -- ring.h", 2, ["What follows `--` is for the compiler", "`layoutlint check ring.h`"]),
    ("flags and input behind --", "check -- -Iinc ring.h", 2, ["`layoutlint check ring.h -- -Iinc`"]),
    ("the input of show behind --", "show -- ring.h", 2, ["`layoutlint show ring.h`"]),
    ("init of nothing", "init nowhere", 2, ["nowhere: no such folder"]),
    ("init of a file", "init ring.h", 2, ["ring.h: not a folder: give that of the project"]),
    ("no struct to reorder", "suggest ring.h", 2, ["Missing argument 'STRUCT'", "`layoutlint suggest ring.h ring --patch`"]),
    ("a command of a group that there is not", "rules show", 2, ["No such command 'show' (the commands are asserts, check, import"]),
    ("help as a command", "help", 2, ["No such command 'help' (write --help)"]),
    ("help as a command of a group", "rules help", 2, ["No such command 'help' (write --help)"]),
    ("no rule file to check", "rules check", 2, ["`layoutlint rules check layoutlint.toml`"]),
    ("nothing", "", 2, ["Usage: layoutlint [OPTIONS] COMMAND", "Judge the structs of INPUT by rules"]),
    ("a group alone", "rules", 2, ["Usage: layoutlint rules [OPTIONS] COMMAND", "Judge the cases of rule files"]),
    ("one of two arguments", "containers ring.h", 2, ["`layoutlint containers ring.h STRUCT`"]),
    ("a rule file to list", "rules list rules.toml", 2, ["`--rules rules.toml`"]),
    ("nothing to explain", "explain", 2, ["`layoutlint explain separate`"]),
]  # fmt: skip

CHECK = "check ring.h --rules"
RULE_FILES = [
    ("a rule file that is missing", f"{CHECK} nofile.toml", 2, ["nofile.toml: no such file or directory"]),
    ("a folder without rule files", f"{CHECK} empty.rules", 2, ["empty.rules: there is no *.toml in this folder"]),
    ("YAML", f"{CHECK} rules.yaml", 2, ["rules.yaml:1: not TOML", "rule files are TOML, and are named *.toml"]),
    ("JSON", f"{CHECK} rules.json", 2, ["rules.json:1: not TOML", "rule files are TOML"]),
    ("a header for rules", f"{CHECK} ring.h", 2, ["ring.h:1: not TOML", "rule files are TOML"]),
    ("fields that are no groups", f"{CHECK} flat.toml", 2,
     ["flat.toml:5: `fields`[0] must be a list of field paths, not a string", 'write ["head"]']),
    ("a string for groups", f"{CHECK} string.toml", 2, ["string.toml:5: `fields` must be a list", '(write [["head"], ["tail"]])']),
    ("a string for variables", f"{CHECK} variable.toml", 2, ["variable.toml:4: `variables` must be a list", '(write ["lru"])']),
    ("a string for an allocator", f"{CHECK} allocator.toml", 2, ["allocator.toml:2: `new_ring` must be a table, not a string (write `[allocators.new_ring]`)"]),
    ("a comment of C", f"{CHECK} comment.toml", 2, ["comment.toml:1: not TOML", "(comments begin with `#`)"]),
    ("a property of the machine", f"{CHECK} machine.toml", 2, ["machine.toml:7: unknown key `line_size`", "the option --line-size"]),
    ("one group", f"{CHECK} one.toml", 2, ["one.toml:1: rule `sides`: `fields` needs at least two groups"]),
    ("no groups", f"{CHECK} none.toml", 2, ["none.toml:5: `fields` is empty: give"]),
    ("a misspelt kind", f"{CHECK} kind.toml", 2, ["kind.toml:4: `kind` cannot be `seperate`", "did you mean `separate`?"]),
    ("no kind", f"{CHECK} nokind.toml", 2, ["nokind.toml:1: rule `sides` has no `kind`"]),
    ("no why", f"{CHECK} nowhy.toml", 2, ["nowhy.toml:1: rule `sides` has no `why`"]),
    ("a misspelt field", f"{CHECK} field.toml", 3, ["field.toml:1", "has no field `hed`", "did you mean `head`?"]),
    ("-> for .", f"{CHECK} arrow.toml", 2, ["arrow.toml:5", "`slot->id`", "write `.` for `->`"]),
    ("another severity", f"{CHECK} severity.toml", 2, ["severity.toml:7: `severity` cannot be `warn`", "did you mean `warning`?"]),
    ("[[rules]]", f"{CHECK} tables.toml", 2, ["tables.toml:1: unknown key `rules`", "rules are `[[rule]]`"]),
    ("[rule]", f"{CHECK} table.toml", 2, ["table.toml:1: `rule` must be a list of tables", "`[[rule]]`"]),
    ("struct with its keyword", f"{CHECK} keyword.toml", 2, ["keyword.toml:3: `struct` cannot be `struct ring`", "write the tag alone, `ring`"]),
    ("a space in an id", f"{CHECK} id.toml", 2, ["id.toml:2: `id` cannot be `both sides`", "without spaces"]),
    ("an id twice", f"{CHECK} twice.toml", 2, ["twice.toml:8: `id` `sides` is already used by the rule at twice.toml:1"]),
    ("a misspelt key", f"{CHECK} key.toml", 2, ["key.toml:5: unknown key `feilds`", "did you mean `fields`?"]),
    ("a string for a number", f"{CHECK} number.toml", 2, ["number.toml:7: `tolerate` must be a number, not a string"]),
    ("a word without quotes", f"{CHECK} unquoted.toml", 2, ["unquoted.toml:4: not TOML", 'strings need quotes: "..."']),
    ("quotes of a text processor", f"{CHECK} curly.toml", 2, ["curly.toml:3: not TOML", 'quotes are straight: "..."']),
    ("a truth value of Python", f"{CHECK} true.toml", 2, ["true.toml:7: not TOML", "write `true` or `false`"]),
    ("a semicolon", f"{CHECK} semicolon.toml", 2, ["semicolon.toml:3: not TOML", "no `;` ends a line"]),
    ("a number with a unit", f"{CHECK} unit.toml", 2, ["unit.toml:5: not TOML", "numbers have no unit"]),
    ("a key given twice", f"{CHECK} key-twice.toml", 2, ["key-twice.toml:7: not TOML", "a table has each key once"]),
    ("an access without a table", f"{CHECK} flat-access.toml", 2, ['flat-access.toml:8: `head`', 'write `head = { access = "hot-write" }`']),
    ("a field in the table of its struct", f"{CHECK} flat-field.toml", 2,
     ["flat-field.toml:8: unknown key `head` in [struct.ring]", "fields are in [struct.ring.fields]"]),
    ("a condition without a key", f"{CHECK} when.toml", 2, ["when.toml:7: `when`", 'write `when = { arch = ["x86_64"] }`']),
    ("an alignment in brackets", f"{CHECK} aligned.toml", 2, ["aligned.toml:8: `placement`", "write `aligned:64`"]),
    ("an open quote", f"{CHECK} quote.toml", 2, ["quote.toml:2: not TOML"]),
    ("Latin-1", f"{CHECK} latin.toml", 2, ["latin.toml:6: not UTF-8 (byte 0xf6)"]),
    ("an override without a reason", f"{CHECK} off.toml", 2, ['off.toml:1: [override."sides"] has no `why`']),
    ("a rule file for a matrix", "check --matrix rules.toml", 2, ["rules.toml:1: unknown key `rule` in a matrix", "known: defaults"]),
    ("a header for rules check", "rules check ring.h", 2, ["ring.h:1: not TOML", "rule files are TOML"]),
]  # fmt: skip

INPUTS = [
    ("a missing input", "check missing.h --rules rules.toml", 3, ["missing.h: no such file or directory"]),
    ("a pattern in quotes", "show 'ring*.h' ring", 3, ["ring*.h: no such file or directory", "the shell expands a pattern"]),
    ("a database without entries", "show empty/ring.h ring", 0, ["empty/compile_commands.json: no entry for it"]),
    ("a folder without C", "check folder --rules rules.toml", 3, ["folder: holds no C headers or sources, no compile_commands.json"]),
    ("random bytes", "check random.bin --rules rules.toml", 3, ["random.bin: neither ELF, BTF nor C text", "00 01 02 03"]),
    ("an ELF file that is cut", "check cut.o --rules rules.toml", 3, ["cut.o: damaged or truncated ELF file"]),
    ("an empty file", "check nothing.h --rules rules.toml", 3, ["nothing.h: the file is empty"]),
    ("an archive", "check lib.a --rules rules.toml", 3, ["lib.a: is an archive without ELF files and BTF", "C sources: unpack it"]),
    ("another language", "check ring.py --rules rules.toml", 3, ["ring.py: is Python by its name; layoutlint reads C"]),
    ("UTF-16", "check utf16.h --rules rules.toml", 3, ["utf16.h: is text in UTF-16", "`iconv -f UTF-16 -t UTF-8`"]),
    ("a rule file for an input", "check rules.toml", 3, ["rules.toml: is a rule file, not an input", "`--rules rules.toml`"]),
    ("rules without --rules", "check ring.h rules.toml", 3, ["rules.toml: is a rule file, not an input", "there is no rule"]),
    ("a header without rules", "check ring.h", 2, ["no rules apply to these inputs", "--rules FILE or --pack NAME"]),
    ("a folder that is missing", "allocations missing", 3, ["missing: no such file or directory"]),
]  # fmt: skip

OPTIONS = [
    ("a misspelt command", "chekc ring.h", 2, ["No such command 'chekc'"]),
    ("a misspelt option", f"{CHECK} rules.toml --statistic", 2, ["No such option '--statistic'", "'--statistics'"]),
    ("a misspelt pack", "check ring.h --pack generik", 2, ["no shipped pack is called 'generik'", "did you mean `generic`?"]),
    ("a file for a pack", "check ring.h --pack rules.toml", 2, ["no shipped pack is called 'rules.toml'", "`--rules rules.toml`"]),
    ("a pack that there is not", "check ring.h --pack linux", 2, ["no shipped pack is called 'linux'", "the packs are generic, kernel/block"]),
    ("a configuration file", "check ring.h --config rules.toml", 2, ["No such option '--config'", "`--rules FILE`"]),
    ("a rule to ignore", f"{CHECK} rules.toml --ignore sides", 2, ["No such option '--ignore'", '[override."ID"]']),
    ("the struct as an option", "show ring.h --struct ring", 2, ["No such option '--struct'", "`layoutlint show ring.h ring`"]),
    ("the struct of a history as an option", "history ring.h ring.h --struct ring", 2,
     ["Structs follow the input", "`layoutlint history vmlinux-6.1 vmlinux-6.12 address_space`"]),
    ("another format", f"{CHECK} rules.toml --format xml", 2, ["'xml' is not one of", "'json'"]),
    ("an output without a file", f"{CHECK} rules.toml --output sarif", 2, ["expected F=FILE", "sarif=report.sarif"]),
    ("an output in no folder", f"{CHECK} rules.toml --output sarif=no/such.sarif", 2, ["cannot write no/such.sarif: no such file or directory"]),
    ("an output over a source", f"{CHECK} rules.toml --output sarif=ring.h", 2, ["cannot write ring.h", "ring.h"]),
    ("no power of two", f"{CHECK} rules.toml --line-size 60", 2, ["'60' is not a power of two"]),
    ("a word for a number", f"{CHECK} rules.toml --width wide", 2, ["'wide' is not a valid whole number"]),
    ("a short option of others", "check ring.h -r rules.toml", 2, ["No such option '-r'", "Did you mean --rules"]),
    ("the machine as an option", f"{CHECK} rules.toml --arch arm64", 2, ["No such option '--arch'", "`-- --target=aarch64-linux-gnu`"]),
    ("the target as an option", f"{CHECK} rules.toml --target=arm", 2, ["No such option '--target'", "`-- --target=aarch64-linux-gnu`"]),
    ("a flag before --", f"{CHECK} rules.toml -fpack-struct", 2, ["Compiler flags follow `--`", "`-- -fpack-struct`"]),
    ("a library", f"{CHECK} rules.toml -lpthread", 2, ["-lpthread is for the linker", "leave it out"]),
    ("a folder of libraries", f"{CHECK} rules.toml -L/opt/lib", 2, ["-L/opt/lib is for the linker"]),
    ("a machine with one dash", f"{CHECK} rules.toml -target aarch64", 2, ["`-- --target=aarch64-linux-gnu`"]),
    ("a system that is missing", f"{CHECK} rules.toml --sysroot nosuch", 2, ["--sysroot", "'nosuch': no such folder"]),
    ("an effect to explain", "explain false-sharing", 2, ["is called 'false-sharing'", "the kinds are separate, together", "rules list"]),
    ("no processes", f"{CHECK} rules.toml --jobs 0", 2, ["0 is not in the range 1<=x<=1024"]),
    ("a severity to fail on", f"{CHECK} rules.toml --fail-on warning", 2, ["'warning' is not one of 'broken', 'at-risk'"]),
    ("a seed alone", f"{CHECK} rules.toml --seed 12", 2, ["--seed needs --randstruct"]),
    ("a version in words", f"{CHECK} rules.toml --kernel-version six", 2, ["--kernel-version 'six': expected X.Y, such as 6.12"]),
    ("an open quote in flags", f"{CHECK} rules.toml --flags \\'-DX", 2, ["no closing quotation"]),
    ("sources that are missing", f"{CHECK} rules.toml --sources nodir", 2, ["--sources 'nodir': no such folder"]),
    ("sources without C", f"{CHECK} rules.toml --sources notes", 2, ["--sources 'notes': no C source or header (*.c, *.h)"]),
    ("sources without annotations", "check ring.h --sources empty", 2,
     ["no rules apply to these inputs", "no comment in the C files below empty has an annotation (`layoutlint: ...`)"]),
    ("a misspelt schema", "schema reprot", 2, ["no schema is called 'reprot'", "did you mean `report`?"]),
    ("another shell", "completion tcsh", 2, ["'tcsh' is not one of 'bash', 'zsh', 'fish'"]),
    ("a command for its schema", "schema check", 2, ["no schema is called 'check' (did you mean `report`?)"]),
    ("a word of kinds to explain", "explain padding", 2, ["(the manual has the word in `holes`, "]),
    ("a misspelt kind to explain", "explain seperate", 2, ["no kind and no rule is called 'seperate'", "did you mean `separate`?"]),
    ("a field for an offset", "show ring.h ring --at head", 2, ["'head' is not a number of bytes, such as 52 or 0x34"]),
    ("asserts of a struct", "rules asserts ring", 2, ["'ring' is not a rule file (*.toml)", "pass --in INPUT"]),
    ("a header for a table", "rules import net_cachelines ring.h", 2, ["ring.h: no table with the columns Type, Name"]),
]  # fmt: skip
MORE = [
    ("a word for a placement", f"{CHECK} place.toml", 2, ["place.toml:8: `placement` cannot be `cacheline` (known: line, slab"]),
    ("a key of a struct in a rule", f"{CHECK} rule-place.toml", 2, ["rule-place.toml:7: unknown key `placement`", "a key of [struct.NAME]"]),
    ("another rule file inside", f"{CHECK} include.toml", 2, ["include.toml:7: unknown key `include`", "give each with `--rules`"]),
    ("a number in quotes", f"{CHECK} quoted.toml", 2, ["quoted.toml:6: `max` must be an integer, not a string (write 64)"]),
    ("a fraction for an integer", f"{CHECK} float.toml", 2, ["float.toml:6: `max` must be an integer, not a number (write 64)"]),
    ("a guessed key", f"{CHECK} guess.toml", 2, ["guess.toml:1: rule `a`: needs `at` or `line`", "guess.toml:7: unknown key `offset`"]),
    ("groups for a list of fields", f"{CHECK} order.toml", 2, ['order.toml:6: `fields` must be a list of field paths', '(write ["head", "tail"])']),
    ("a group without marks", f"{CHECK} group.toml", 3, ["group.toml:1", "ring marks no groups of fields", "`__cacheline_group_begin(NAME)`"]),
    ("a pattern of no field", f"{CHECK} nothing.toml", 3, ["ring has no field `*_nothing` (it has `head`, `tail`, `slot`)"]),
    ("a list of structs", f"{CHECK} structs.toml", 2, ["structs.toml:3: `struct` must be a string", "a rule for each, or a pattern with `*`"]),
    ("a key for unions", f"{CHECK} union.toml", 2, ["union.toml:3: unknown key `union`", "`struct` names unions"]),
    ("off for a rule", f"{CHECK} override.toml", 2, ["override.toml:8: `sides` must be a table", '`sides = { enabled = false, why = "..." }`']),
    ("off for a severity", f"{CHECK} severity-off.toml", 2, ["severity-off.toml:8: `severity` cannot be `off`", "`enabled = false`"]),
    ("a colon for =", f"{CHECK} colon.toml", 2, ["colon.toml:4: not TOML", "write `key = value`"]),
    ("an open list", f"{CHECK} bracket.toml", 2, ["bracket.toml:6: not TOML", "`]` is missing before this line"]),
    ("an apostrophe", f"{CHECK} apostrophe.toml", 2, ["apostrophe.toml:6: not TOML", "an apostrophe ends a string"]),
    ("a string over two lines", f"{CHECK} lines.toml", 2, ["lines.toml:6: not TOML", '"""...""" goes over several']),
    ("a shipped pack in a rule file", f"{CHECK} pack.toml", 2, ["pack.toml:1: `pack` must be a table", "`--pack generic`"]),
    ("an option of Linux as a string", f"{CHECK} option.toml", 2, ["option.toml:7: `config` must be a list", '(write ["SMP"])']),
    ("another word in a condition", f"{CHECK} version.toml", 2, ["version.toml:7: unknown key `version`", "it is called `kernel` here"]),
    ("a function in a rule", "check push.c --rules function.toml", 3, ["function.toml:1", "struct push is in none of the inputs: `push` is a function"]),
    ("a list of builds", "check --matrix builds.toml", 2, ["builds.toml:1: `build` must be a table", "`[build.NAME]`"]),
    ("a suppression of everything", "check ignored.h", 2, ["ignored.h:3: annotation of `head`", "write `ignore[RULE] REASON`"]),
    ("a suppression without a reason", "check reason.h", 2, ["reason.h:3: annotation of `head`", "`ignore[sides] REASON`"]),
    ("a kind without fields in a comment", "check bare.h", 2, ["bare.h:3: annotation of `head`", "`separate(...)`"]),
    ("a capital in a comment", "check capital.h", 2, ["capital.h:3: annotation of `head`", "write `layoutlint: hot-write`"]),
    ("a hyphen in a comment", "check hyphen.h", 2, ["hyphen.h:3: annotation of `head`", "write `layoutlint: hot-write`"]),
    ("a macro without its header", "check macro.h", 2, ["`LAYOUTLINT(...)` in macro.h", "`layoutlint init --header`"]),
    ("the struct of such a header", "show macro.h ring", 3,
     ["macro.h:3:23: error: no macro `LAYOUTLINT` is defined here: include layoutlint.h"]),
    ("a struct without its end", "check open.h --rules rules.toml", 3, ["the layout of ring is unreliable: open.h:6:1: error: expected '}'"]),
    ("a byte of an unreliable struct", "show open.h ring --at 8", 3, ["unreliable: open.h:6:1: error: expected '}'"]),
    ("a header that the build makes", "show made/ring.h ring", 3,
     ["made/ring.h:1:10: error: 'config.h' file not found", "the build makes it from made/config.h.in: run `meson setup build` first"]),
    ("a header without what configure found out", "show configured.h ring", 3,
     ["unknown type name 'bool'; the file includes config.h under `HAVE_CONFIG_H`: run configure, and add `-DHAVE_CONFIG_H`"]),
    ("a function to show", "show push.c push", 3, ["push.c: no struct push: `push` is a function"]),
    ("a function of another file", "show ring.h push", 3, ["ring.h: no struct push: `push` is a function (push.c)"]),
    ("a patch", "check change.patch --rules rules.toml", 3, ["change.patch: is a patch: `layoutlint diff --patch FILE TREE`"]),
    ("a Windows program", "check ring.exe --rules rules.toml", 3, ["ring.exe: is a Windows program", "compile them for Linux with `-g`"]),
    ("a Mach-O file", "check mac.o --rules rules.toml", 3, ["mac.o: is a Mach-O file", "compile them for Linux with `-g`"]),
    ("a core dump", "check core --rules rules.toml", 3, ["core: is a core dump", "give the program that it is of"]),
    ("a document", "check ring.pdf --rules rules.toml", 3, ["ring.pdf: is a PDF document", "reads C and compiled files"]),
    ("the text of LLVM", "check ring.ll --rules rules.toml", 3, ["ring.ll: is LLVM IR by its name; layoutlint reads C"]),
    ("a Makefile", "check Makefile --rules rules.toml", 3, ["Makefile: is make by its name; layoutlint reads C"]),
    ("a baseline in JSON", f"{CHECK} rules.toml --baseline asked.json", 2, ["asked.json:1: not TOML", "baselines are TOML"]),
    ("a baseline that is missing", f"{CHECK} rules.toml --baseline no.toml", 2,
     ["no.toml: no such file", "`layoutlint baseline write no.toml INPUT...` writes it"]),
    ("no snapshot", f"{CHECK} rules.toml --snapshot asked.json", 3, ["asked.json: is not a snapshot", "`layoutlint snapshot INPUT --all --output FILE`"]),
    ("the folder of a database", f"{CHECK} rules.toml --compile-commands sub/out", 2, ["it is a folder: give sub/out/compile_commands.json"]),
    ("a file for a folder of sources", f"{CHECK} rules.toml --sources ring.h", 2, ["--sources 'ring.h': is a file: give the folder with it"]),
    ("an input behind -- beside another", f"{CHECK} rules.toml -- -DN push.c", 2, ["'push.c' behind `--` is not read: write inputs before `--`"]),
    ("an option before the command", "--rules rules.toml check ring.h", 2, ["Options follow the command: `layoutlint check INPUT --rules`"]),
    ("version as a command", "version", 2, ["No such command 'version' (write --version)"]),
    ("no shell", "completion", 2, ["Choose from: bash, zsh, fish", "`layoutlint completion bash`"]),
    ("one side of a comparison", "diff ring.h", 2, ["`layoutlint diff --git HEAD~1..HEAD ring.h`"]),
    ("a patch without a tree", "diff --patch change.patch", 2, ["takes one source tree", "`layoutlint diff --patch change.patch TREE`"]),
    ("everything and a name", "show ring.h ring --all", 2, ["--all prints every struct: leave the names out"]),
    ("two inputs to show", "show ring.h push.c ring", 3, ["push.c: is a file, and `show` takes one INPUT"]),
    ("a rule of a file to explain", "explain sides", 2, ["is called 'sides'", "`--rules FILE` searches those of a file too"]),
    ("a rule to measure", "measure ring.h ring --rule mine", 2, ["no rule is called 'mine'", "`--rules FILE`"]),
    ("accesses of a header", "accesses ring.h", 3, ["these sources define no function: give the *.c files too"]),
    ("an empty name", "check '' --rules rules.toml", 2, ["an argument after 'check' is empty: is a variable of the shell not set?"]),
    ("an empty name of a rule file", "check ring.h --rules ''", 2, ["an argument after '--rules' is empty"]),
]  # fmt: skip
TABLE = (*NAMES, *USAGE, *RULE_FILES, *INPUTS, *OPTIONS, *MORE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files of the mistakes, in a folder of their own."""
    path: Path = tmp_path_factory.mktemp("mistakes")
    (path / ".git").mkdir()
    for name, text in FILES.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("arguments", "status", "parts"), [pytest.param(*row[1:], id=row[0]) for row in TABLE])
def test_a_mistake_has_a_message_that_helps(arguments, status, parts, folder):
    done = run(*shlex.split(arguments), cwd=folder)
    printed = " ".join((done.stdout + done.stderr).split())
    assert [part for part in parts if part not in printed] == [], printed
    assert done.returncode == status
    assert "Traceback" not in done.stderr


def test_the_table_has_no_row_twice():
    assert len({row[1] for row in TABLE}) == len(TABLE) >= 180


ACCEPTED = [
    # what people type, and the plain form of it
    ("show ring.h 'struct ring'", "show ring.h ring"),
    ("show ring.h struct ring", "show ring.h ring"),
    ("show ring.h struct ring struct slot", "show ring.h ring slot"),
    ("containers ring.h 'struct slot'", "containers ring.h slot"),
    ("containers ring.h struct slot", "containers ring.h slot"),
    ("check ring.h --rules crlf.toml", "check ring.h --rules rules.toml"),
    ("show crlf.h ring --format c", "show ring.h ring --format c"),
    ("show bom.h ring --format c", "show ring.h ring --format c"),
    ("check ring.h --rules rules.toml --struct 'struct ring'", "check ring.h --rules rules.toml --struct ring"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("typed", "plain"), ACCEPTED)
def test_other_ways_of_writing_do_no_harm(typed, plain, folder):
    first, second = (run(*shlex.split(arguments), cwd=folder) for arguments in (typed, plain))
    assert (first.stdout.replace("crlf.toml", "rules.toml"), first.stderr, first.returncode) == (second.stdout, second.stderr, second.returncode)
    assert "ring" in first.stdout


def test_a_file_that_is_called_struct_is_an_input(tmp_path):
    (tmp_path / "struct").write_text(RING)
    assert run("containers", "struct", "slot", cwd=tmp_path).stdout == run("containers", "./struct", "slot", cwd=tmp_path).stdout
    assert "embeds" not in run("show", "struct", "ring", cwd=tmp_path).stderr
