"""What changes that a seed makes can affect: the inputs, rules and structs of a run, and what it must judge."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from textwrap import fill

import pytest

from layoutlint.errors import LayoutlintError
from layoutlint.intent.toml import rule_file
from layoutlint.judgement.rule import Pack
from layoutlint.lint import change_effects
from layoutlint.lint.change_effects import Names, split_names
from layoutlint.model.reading import ReadOptions, Unread
from layoutlint.revisions.change import Change, Difference
from layoutlint.revisions.git import Commit
from tests.harness.run_options import run_options

RULE = '[[rule]]\nid = "{id}"\nstruct = "{struct}"\nkind = "{kind}"\nwhy = "w"\n{keys}\n'
APART = RULE.format(id="apart", struct="alpha", kind="separate", keys='fields = [["a"], ["b"]]')
RULES = {
    "apart": APART,
    "moved": APART.replace('[["a"], ["b"]]', '[["b"], ["a"]]'),
    "size": RULE.format(id="size", struct="beta", kind="size", keys="max = 64"),
    "gone": RULE.format(id="gone", struct="gone", kind="size", keys="max = 64"),
    "pattern": RULE.format(id="pattern", struct="al*", kind="size", keys="max = 8"),
    "around": RULE.format(id="around", struct="alpha", kind="separate", keys='fields = [["a"], ["b"]]\naround = true'),
    "locks": '[[rule]]\nid = "locks"\nkind = "stride"\nvariables = ["@type:struct beta"]\nwhy = "w"\n',
    "row": '[[rule]]\nid = "row"\nkind = "stride"\nvariables = ["row"]\nwhy = "w"\n',
    "placed": '[struct.alpha]\nplacement = "slab:64"\n',
    "annotated": "[struct.beta]\nannotated = true\n",
}
FILES = {
    # texts of each file: the change takes one to another
    "alpha.h": ("struct alpha { long a; long b; };\n", "struct alpha { long a; long b; long c; };\n", "", "struct alfa { long a; };\n",
                "struct alpha { long a; /* layoutlint: hot-write */ long b[LENGTH]; };\n"),
    "inc/beta.h": ('#include "../alpha.h"\nstruct beta { struct alpha in; char c[LENGTH]; };\n', "struct beta { char c; };\n", "#define LENGTH 4\n"),
    "config.h": ("#define LENGTH 8\n", "#define LENGTH 9\n", "#define OTHER 1\n", "#pragma pack(1)\n"),
    "a.c": ('#include "config.h"\n#include "alpha.h"\nstruct beta row[3];\n', '#include "inc/beta.h"\n', "int main(void) { return 0; }\n",
            '#define LENGTH 2\n#include "alpha.h"\nstruct holder { struct alpha in; };\n'),
    "README.md": ("text\n", "more\n"),
}  # fmt: skip
TREE = {"Makefile": "VERSION = 6\nPATCHLEVEL = 12\n", "include/linux/kconfig.h": "\n", "include/generated/autoconf.h": "\n", "include/config/auto.conf": "CONFIG_X86_64=y\n"}
TREE_FILES = {
    "include/alpha.h": FILES["alpha.h"],
    "drivers/beta.h": tuple(text.replace('"../alpha.h"', "<alpha.h>") for text in FILES["inc/beta.h"]),
    "include/config.h": FILES["config.h"],
    "drivers/a.c": tuple(text.replace("inc/", "").replace('"alpha.h"', "<alpha.h>").replace('"config.h"', "<config.h>") for text in FILES["a.c"]),
    "README.md": FILES["README.md"],
}  # fmt: skip
HEADER = '[struct.alpha]\nheader = "alpha.h"\n'


def rules_of(chance: Random) -> str:
    return "\n".join(RULES[name] for name in chance.sample(list(RULES), chance.randint(0, 4)) if name != "moved") or "# none\n"


def lines(seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The effects of a change of FILES."""
    chance = Random(f"change {seed}")
    names = (Names((), (), False), Names((), (), False), split_names(("alpha.h",)), split_names(("a.c", "gone.c")), split_names(("a.o",)), Names((), (), True))
    yield from effects(seed, chance, FILES, names, folder, monkeypatch)


def tree_lines(seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The effects of a change in a kernel tree, which can stand beside other files, and of shipped rules."""
    chance = Random(f"tree {seed}")
    own = chance.choice(("", "", "linux/"))
    for name, text in TREE.items():
        (folder / own / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / own / name).write_text(text)
    (folder / own / "drivers").mkdir()
    texts = {own + name: each for name, each in TREE_FILES.items()}
    if own:
        texts |= {"beside.c": (*FILES["a.c"][3:], "struct beta { char c; };\n")}
    names = (Names((), (), False),) * 3 + (split_names((own + "include/alpha.h",)), split_names((own + "drivers/a.c", "a.o")), split_names(("r.toml",)))
    shipped = rule_file.parse("\n".join(RULES[name] for name in ("size", "around")), "shipped.toml", shipped=True)
    yield from effects(seed, chance, texts, names, folder, monkeypatch, (shipped,), chance.choice(("", HEADER)))


def effects(seed: int, chance: Random, texts: dict[str, tuple[str, ...]], command_lines: tuple[Names, ...], folder: Path, monkeypatch: pytest.MonkeyPatch,
            kernel_packs: tuple[Pack, ...] = (), headers: str = "") -> Iterator[str]:  # fmt: skip
    new = {name: chance.choice(each) for name, each in texts.items() if chance.random() < 0.9}
    olds = [{name: text if chance.random() < 0.5 else chance.choice(texts[name]) for name, text in new.items() if chance.random() < 0.95} for _ in range(chance.choice((1, 1, 1, 2)))]
    rules = rules_of(chance)
    rules += headers if "[struct.alpha]" not in rules else ""
    new["r.toml"] = rules
    for old in olds:
        old["r.toml"] = chance.choice((rules, rules, rules.replace('[["a"], ["b"]]', '[["b"], ["a"]]'), rules_of(chance), "broken ["))
    for name, text in new.items():
        (folder / name).write_text(text)
    commits = {f"{number}": old for number, old in enumerate(olds)}

    def content(self: Commit, path: str) -> bytes | None:
        return commits[self.id][path].encode() if path in commits[self.id] else None

    monkeypatch.setattr(Commit, "content", content)
    monkeypatch.setattr(Commit, "path_in_tree", lambda self, path: os.path.relpath(path, folder))
    differences = tuple(
        Difference(None if seed % 9 == 0 else Commit(f"parent{number}", number, str(folder)),
                   frozenset(str(folder / name) for name in {*new, *old} if new.get(name) != old.get(name)),
                   unread=(Unread("sub", "its commit is missing"),) * (chance.random() < 0.1))
        for number, old in commits.items()
    )  # fmt: skip
    change = Change(str(folder), differences, frozenset(str(folder / name) for name in new))
    names = chance.choice(command_lines)
    options = run_options(comments=chance.random() < 0.2, read=ReadOptions(flags=chance.choice(((), (), ("-Iinc",)))))
    packs = (rule_file.parse(rules, "r.toml"),) if rules != "# none\n" else ()
    yield f"== {seed}: {sorted(os.path.relpath(path, folder) for path in change.paths)} {names} {options.intents.comments} {options.read.flags}"
    try:
        found = change_effects.find(change, names, packs, kernel_packs, options)
    except LayoutlintError as error:
        yield f"{type(error).__name__}: {error}"
        return
    scope = found.scope
    yield f"{sorted(found.inputs)} {[[rule.id for rule in pack.rules] + [each.struct for each in pack.structs if each.annotated] for pack in (*found.packs, *found.kernel_packs)]}"
    yield from (f"{each.struct} of {each.header}" for pack in found.packs for each in pack.structs if pack.path == "(staged change)")
    yield f"{scope.structs and sorted(scope.structs)} {[(rule.id, reason) for rule, reason in scope.demands]} {list(map(str, scope.unread))}"
    yield f"{[sorted(ids) for ids in scope.changed_rules]} {scope.changed_files}"


@pytest.mark.parametrize(("part", "rows", "made"), [(0, 40, lines), (1, 40, lines), (2, 40, lines), ("trees", 40, tree_lines)], ids=(0, 1, 2, "trees"))
def test_changes_of_seeds(part, rows, made, golden, monkeypatch, tmp_path):
    texts = []
    first = 0 if made is tree_lines else part * rows
    for seed in range(first, first + rows):
        folder = tmp_path / str(seed)
        (folder / "inc").mkdir(parents=True)
        monkeypatch.chdir(folder)
        texts += [line.replace(str(folder), "FOLDER") for line in made(seed, folder, monkeypatch)]
    golden(f"changes-{part}.txt", "".join(fill(line, 150, subsequent_indent="    ", break_on_hyphens=False) + "\n" for line in texts))
