"""Projects of C sources for the bench, made where they are missing: small units, many units, and a header that changed."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

from layoutlint.model.reading import ReadOptions
from layoutlint.sources.bodies import sources
from tests.harness.perf_samples import SOURCES, Access, line
from tests.harness.repository import commit, git

SYSTEM_HEADERS = ["stdio", "stdlib", "string", "errno", "fcntl", "unistd", "signal", "pthread", "time", "math", "limits", "stdint", "stddef", "ctype", "assert", "inttypes", "locale", "setjmp", "stdarg", "sys/types", "sys/stat", "sys/socket", "sys/time", "sys/mman", "sys/wait", "netinet/in", "arpa/inet", "netdb", "poll", "dirent"]
SMALL, MANY, REACHED = 24, 150, 10
"""The units of the two projects, and those of the second that read the header which changes."""
SAMPLES, SAMPLED = 10_000_000, 0x555555558000
"""The number of samples of `perf script`, and the address of the variable that most of them are in."""
_REPEATED, _SHARDS = 100, 512
_HEADERS = 40
_STRUCTS = 10
HEADER = """\
struct ring {
	unsigned int head;
	unsigned int tail;
	void *data;
	unsigned long stats;
	int produced, consumed, dropped, flags;
	char name[16];
};

struct queue {
	struct ring rings[2];
	struct queue *next;
	long length;
	int state;
};

struct pool { struct queue *first; int count; };

extern struct queue queue;
"""
SHARDS = f"""\
struct shard {{ long head, tail; int owner, waiters; char *name; long counts[4]; }} __attribute__((aligned(64)));
struct shard shards[{_SHARDS}];
int main(void) {{ return (int)shards[0].head; }}
"""
RULES = '[[rule]]\nid = "{0}-apart"\nstruct = "{0}"\nkind = "separate"\nfields = [["{1}"], ["{2}"]]\nwhy = "one thread writes each"\n'


def small_units(folder: Path) -> Path:
    """Make units that include common headers of the system and do little; return their database."""
    includes = "".join(f"#include <{name}.h>\n" for name in SYSTEM_HEADERS)
    text = "struct s{0} {{ int a; long b; pthread_mutex_t lock; }};\nvoid f{0}(struct s{0} *p) {{ pthread_mutex_lock(&p->lock); p->b = p->a++; }}\n"
    return _project(folder, {f"u{number}.c": includes + text.format(number) for number in range(SMALL)})


def samples(folder: Path) -> Path:
    """Make a program, and samples of its variables and of other memory by many threads; return their file."""
    file = folder / "samples.txt"
    if file.exists():
        return file
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "shards.c").write_text(SHARDS)
    subprocess.run(["gcc", "-g", "-o", "shards", "shards.c"], cwd=folder, check=True)
    chance = random.Random(1)
    lines = []
    for number in range(SAMPLES // _REPEATED):
        address = chance.choice((SAMPLED, SAMPLED, 0x7FFFF0000000)) + 8 * chance.randrange(_SHARDS * 8)
        cpu = chance.randrange(64)
        access = Access(
            chance.choice(list(SOURCES)), address, cpu, 1000 + cpu + 64 * chance.randrange(2), "worker",
            chance.choice(("push", "pop", "steal")), 0x401000 + 4 * chance.randrange(900), chance.randrange(30, 900),
        )  # fmt: skip
        lines.append(line(number, access))
    part = folder / "part.txt"
    with part.open("w") as output:
        for _ in range(_REPEATED):
            output.write("".join(lines))
    part.rename(file)
    return file


def many_units(folder: Path) -> Path:
    """Make a repository of units that share many headers; its last commit changes one that few include."""
    structs = "struct h{0}_{1} {{ long a, b, c; struct h{0}_{1} *next; char name[32]; void (*call)(struct h{0}_{1} *); }};\n"
    function = "static inline long get{0}_{1}(struct h{0}_{1} *p) {{ return p->a + p->b * p->c; }}\n"
    files = {
        f"h{number}.h": f"#ifndef H{number}\n#define H{number}\n" + "".join((structs + function).format(number, at) for at in range(_STRUCTS)) + "#endif\n"
        for number in range(_HEADERS)
    }
    includes = "".join(f'#include "h{number}.h"\n' for number in range(_HEADERS))
    for number in range(MANY):
        own = '#include "own.h"\n' if number < REACHED else ""
        body = f"struct own{number} {{ struct h0_0 h; long n; }};\nvoid f{number}(struct own{number} *o) {{ o->n = get0_0(&o->h); o->h.b = {number}; }}\n"
        files[f"u{number}.c"] = includes + own + body
    files["own.h"] = "#ifndef OWN\n#define OWN\nstruct shared { long first; long second; };\n#endif\n"
    files["layoutlint.toml"] = RULES.format("shared", "first", "second") + RULES.format("h3_7", "a", "c")
    database = _project(folder, {name: text for name, text in files.items() if name.endswith(".c")}, files)
    if not (folder / ".git").exists():
        commit(folder, "before", {name: (folder / name).read_text() for name in (*files, database.name)})
        (folder / "own.h").write_text(files["own.h"].replace("long first;", "int first;"))
        git(folder, "commit", "-qam", "after")
    return database


def small_header(folder: Path) -> Path:
    """Make a header of twenty lines, with a rule on it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "layoutlint.toml").write_text(RULES.format("ring", "head", "tail"))
    (folder / "ring.h").write_text(HEADER)
    return folder / "ring.h"


def _project(folder: Path, units: dict[str, str], files: dict[str, str] | None = None) -> Path:
    """Write files, and a database of the units among them."""
    database = folder / "compile_commands.json"
    if not database.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in (files or units).items():
            (folder / name).write_text(text)
        commands = [{"directory": ".", "file": name, "arguments": ["gcc", "-D_GNU_SOURCE", "-c", name]} for name in units]
        database.write_text(json.dumps(commands))
    return database


def parses(folder: Path, inputs: tuple[str, ...], flags: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> Path:
    """Write what `tools.bench.parse_units` reads: the units of inputs, or those with some names, and the flags that layoutlint gives them."""
    units = sources.find(inputs, ReadOptions(flags=flags)).units
    found = [(each.main, each.flags, each.directory) for each in units if not names or os.path.basename(each.main) in names]
    assert found
    output = folder / f"parse{len(found)}.json"
    output.write_text(json.dumps(found))
    return output
