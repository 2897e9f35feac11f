"""What changes that a seed makes can affect: the inputs, rules and structs of a run, and what it must judge."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from textwrap import fill

import pytest

from layoutlint.errors import LayoutlintError
from layoutlint.intent.change import Change, Difference
from layoutlint.intent.git import Commit
from layoutlint.intent.toml import rule_file
from layoutlint.lint import change_effects
from layoutlint.lint.change_effects import Names, split_names
from layoutlint.lint.options import Options
from layoutlint.model.reading import ReadOptions, Unread

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


def rules_of(chance: Random) -> str:
    return "\n".join(RULES[name] for name in chance.sample(list(RULES), chance.randint(0, 4)) if name != "moved") or "# none\n"


def lines(seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    chance = Random(f"change {seed}")
    new = {name: chance.choice(texts) for name, texts in FILES.items() if chance.random() < 0.9}
    olds = [{name: text if chance.random() < 0.5 else chance.choice(FILES[name]) for name, text in new.items() if chance.random() < 0.95} for _ in range(chance.choice((1, 1, 1, 2)))]
    rules = rules_of(chance)
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
    names = chance.choice((Names((), (), False), Names((), (), False), split_names(("alpha.h",)), split_names(("a.c", "gone.c")), split_names(("a.o",)), Names((), (), True)))
    options = Options(comments=chance.random() < 0.2, read=ReadOptions(flags=chance.choice(((), (), ("-Iinc",)))))
    packs = (rule_file.parse(rules, "r.toml"),) if rules != "# none\n" else ()
    yield f"== {seed}: {sorted(os.path.relpath(path, folder) for path in change.paths)} {names} {options.comments} {options.read.flags}"
    try:
        found = change_effects.find(change, names, packs, (), options)
    except LayoutlintError as error:
        yield f"{type(error).__name__}: {error}"
        return
    scope = found.scope
    yield f"{sorted(found.inputs)} {[[rule.id for rule in pack.rules] + [each.struct for each in pack.structs if each.annotated] for pack in found.packs]}"
    yield f"{scope.structs and sorted(scope.structs)} {[(rule.id, reason) for rule, reason in scope.required]} {list(map(str, scope.unread))}"
    yield f"{[sorted(ids) for ids in scope.changed_rules]} {scope.changed_files}"


@pytest.mark.parametrize("part", range(3))
def test_changes_of_seeds(part, golden, monkeypatch, tmp_path):
    texts = []
    for seed in range(part * 40, part * 40 + 40):
        folder = tmp_path / str(seed)
        (folder / "inc").mkdir(parents=True)
        monkeypatch.chdir(folder)
        texts += [line.replace(str(folder), "FOLDER") for line in lines(seed, folder, monkeypatch)]
    golden(f"changes-{part}.txt", "".join(fill(line, 150, subsequent_indent="    ", break_on_hyphens=False) + "\n" for line in texts))
