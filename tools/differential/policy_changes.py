"""Changes of a random project that edit their own judge: suppressions, rules, baselines and flags, for `--policy-from`."""

from __future__ import annotations

from collections.abc import Callable

from tools.differential.change_kinds import Change, Variant, adder, packable
from tools.differential.change_projects import APART, Files, Link, Project

POLICY_VARIANTS: list[Variant] = []
_change = adder(POLICY_VARIANTS)


# Suppressions


def _suppress(p: Project, n: int, at_field: str = "", at_struct: str = "", text: str | None = None) -> str:
    definition = p.struct(n) if text is None else text
    return at_struct + definition.replace(f"long {p.b};", f"long {p.b};{at_field}").replace(f"long {p.a};", f"long {p.a};{at_field}")


_SUPPRESSIONS: dict[str, Callable[[Project], tuple[str, str]]] = {
    # at the fields, at the struct
    "at the field": lambda p: (f" /* layoutlint: ignore[{p.id}] known */", ""),
    "of everything": lambda p: (" // layoutlint: ignore[*] known", ""),
    "of a pattern": lambda p: (f" /* layoutlint: ignore[{p.id[:3]}*] known */", ""),
    "at the struct": lambda p: ("", f"/* layoutlint: ignore[{p.id}] known */\n"),
    "up to a day": lambda p: ("", f"/* layoutlint: ignore[{p.id}] until 2999-01-01 known */\n"),
    "in kernel-doc": lambda p: ("", f"/**\n * struct {p.tag} - x\n * @{p.a}: layoutlint: ignore[{p.id}] known\n * @{p.b}: layoutlint: ignore[{p.id}] known\n */\n"),
}  # fmt: skip


def _suppression(name: str, words: Callable[[Project], tuple[str, str]]) -> None:
    @_change("suppression", name)
    def _(p: Project) -> Change:
        return Change(p.files(p.struct(p.good)), {p.header: p.header_text(_suppress(p, p.bad, *words(p)))})


for _name, _words in _SUPPRESSIONS.items():
    _suppression(_name, _words)


@_change("suppression", "by an attribute")
def _(p: Project) -> Change:
    mark = f' __attribute__((annotate("layoutlint:ignore[{p.id}] known")));'
    text = p.struct(p.bad).replace(f"long {p.a};", f"long {p.a}{mark}").replace(f"long {p.b};", f"long {p.b}{mark}")
    return Change(p.files(p.struct(p.good)), {p.header: p.header_text(text)})


def _move_suppression(name: str, before: Callable[[Project, str], str]) -> None:
    """Add a change that writes a suppression which the base has elsewhere."""

    @_change("suppression", name)
    def _(p: Project) -> Change:
        mark = f" /* layoutlint: ignore[{p.id}] known */"
        base = p.files(before(p, mark) + p.struct(p.good))
        return Change(base, {p.header: p.header_text(before(p, mark) + _suppress(p, p.bad, mark))})


_move_suppression("that the base has in another struct", lambda p, mark: _suppress(p, 0, mark, text=p.struct(p.bad, p.name())))
_move_suppression("that the base has in #if 0", lambda p, mark: f"#if 0\n{_suppress(p, p.bad, mark)}#endif\n")
_move_suppression("that the base has in a branch that is off", lambda p, mark: f"#ifdef {p.id.upper().replace('-', '_')}_OFF\n#else\n#endif\n#ifdef NEVER_ON\n{_suppress(p, p.bad, mark)}#endif\n")
_move_suppression("that the base has in a function", lambda p, mark: f"static inline int {p.name()}(void) {{\n{_suppress(p, p.good, mark)}\treturn sizeof(struct {p.tag});\n}}\n")
_move_suppression("that the base has at a variable", lambda p, mark: f"extern long {p.a};{mark}\nextern long {p.b};{mark}\n")


@_change("suppression", "that the base has at a field of this name inside", rules=("separate", "distance-min", "distance-max", "offset"))
def _(p: Project) -> Change:
    mark = f" /* layoutlint: ignore[{p.id}] known */"

    def text(n: int, inner: str, outer: str) -> str:
        inside = f"struct {{ long {p.a};{inner}\nlong {p.b};{inner}\n}} {p.name()};\n"
        return _suppress(p, n, outer).replace(f"long {p.b};", f"long {p.b};", 1).rpartition("};")[0] + inside + "};\n"

    return Change(p.files(text(p.good, mark, "")), {p.header: p.header_text(text(p.bad, mark, mark))})


@_change("suppression", "that the base has in another file")
def _(p: Project) -> Change:
    mark, path = f" /* layoutlint: ignore[{p.id}] known */", p.path_beside(f"{p.name()}.h")
    base = p.files(p.struct(p.good), {path: _suppress(p, p.good, mark)})
    return Change(base, {p.header: p.header_text(_suppress(p, p.bad, mark))})


# Rules

_RULES: dict[str, Callable[[Project], str | Link | None]] = {
    "deleted": lambda p: None,
    "about another struct": lambda p: p.rules().replace(f'struct = "{p.tag}"', f'struct = "{p.other_tag}"').replace(f"*_{p.suffix}", f"{p.other_tag}*"),
    "that tolerates it": lambda p: p.rules("tolerate = 1.0\n") if p.rule.kind == "separate" else p.rules().replace('why =', 'severity = "note"\nwhy ='),
    "that is a note": lambda p: p.rules('severity = "note"\n'),
    "of a condition": lambda p: p.rules('when = { arch = ["s390x"] }\n'),
    "of another kernel": lambda p: p.rules('when = { kernel = "<1.0" }\n'),
    "with other keys": lambda p: p.rules().replace(p.rule.keys, f'kind = "size"\nmax = {1 << 20}'),
    "turned off": lambda p: p.rules(f'\n[override."{p.id}"]\nenabled = false\nwhy = "later"\n'),
    "made a note": lambda p: p.rules(f'\n[override."{p.id}"]\nseverity = "note"\nwhy = "later"\n'),
    "of another name": lambda p: p.rules().replace(p.rule.keys, f'kind = "size"\nmax = {1 << 20}').replace(p.id, p.id + "-2"),
    "that is no TOML": lambda p: "[[rule]]\n",
    "that is a link": lambda p: Link("other.toml"),
}  # fmt: skip


def _rule_change(name: str, make: Callable[[Project], str | Link | None]) -> None:
    @_change("rule", name)
    def _(p: Project) -> Change:
        changed: Files = {p.header: p.header_text(p.struct(p.bad)), p.rule_file: make(p)}
        if isinstance(changed[p.rule_file], Link):
            changed["other.toml"] = _harmless(p)
        return Change(p.files(p.struct(p.good)), changed)


def _harmless(p: Project) -> str:
    return p.rules().replace(p.rule.keys, f'kind = "size"\nmax = {1 << 20}')


for _name, _text in _RULES.items():
    _rule_change(_name, _text)


def _in_folder(p: Project) -> Change:
    """Return a project whose rules are in a folder, and a change that breaks one."""
    base = p.files(p.struct(p.good))
    base["ci/rules/x.toml"] = base.pop(p.rule_file)
    return Change(base, {p.header: p.header_text(p.struct(p.bad))}, words=("--rules", "ci/rules"))


@_change("rule", "in a folder, deleted")
def _(p: Project) -> Change:
    change = _in_folder(p)
    change.base["ci/rules/y.toml"] = p.rules().replace('"p"', '"q"').replace(p.id, "other").replace(p.tag, p.other_tag)
    change.changed["ci/rules/x.toml"] = None
    return change


@_change("rule", "in a folder that is a link now")
def _(p: Project) -> Change:
    change = _in_folder(p)
    change.changed |= {"ci/rules/x.toml": None, "ci/rules": Link("../elsewhere"), "elsewhere/x.toml": _harmless(p)}
    return change


@_change("rule", "in a folder whose parent is a link now")
def _(p: Project) -> Change:
    change = _in_folder(p)
    change.changed |= {"ci/rules/x.toml": None, "ci": Link("elsewhere"), "elsewhere/rules/x.toml": _harmless(p)}
    return change


@_change("rule", "with a nearer file", projects=(False,))
def _(p: Project) -> Change:
    return Change(p.files(p.struct(p.good)), {p.header: p.header_text(p.struct(p.bad)), f"{p.sources}/layoutlint.toml": _harmless(p)})


@_change("rule", "with more in a snapshot of settings")
def _(p: Project) -> Change:
    more = f'\n[struct.{p.tag}]\nplacement = "aligned:128"\n' if not p.is_pattern else ""
    return Change(p.files(p.struct(p.good)), {p.header: p.header_text(p.struct(p.bad)), p.rule_file: p.rules('severity = "note"\n' + more)})


# Baselines


_EMPTY = 'schema = "layoutlint/baseline/1"\naccept = []\n'
_BASELINES: dict[str, tuple[str | None, str, Files]] = {
    # before, the file that accepts what the change breaks, what else the change does
    "that accepts it": (_EMPTY, "ci/base.toml", {}),
    "that is a link now": (_EMPTY, "x.toml", {"ci/base.toml": Link("../x.toml")}),
    "in a folder that is a link now": (_EMPTY, "elsewhere/base.toml", {"ci/base.toml": None, "ci": Link("elsewhere")}),
    "that is new": (None, "ci/base.toml", {}),
}  # fmt: skip


def _baseline_change(name: str, before: str | None, path: str, more: Files) -> None:
    @_change("baseline", name)
    def _(p: Project) -> Change:
        base = p.files(p.struct(p.good), {"ci/keep": "\n"} if before is None else {"ci/base.toml": before})
        changed: Files = {path: _EMPTY, **more, p.header: p.header_text(p.struct(p.bad))}
        return Change(base, changed, words=("--baseline", "ci/base.toml"), baseline=path)


for _name, (_before, _path, _more) in _BASELINES.items():
    _baseline_change(_name, _before, _path, _more)


# Flags: the text asks for a macro, which the change defines for layoutlint and not for the build


def _hide_by_macro(p: Project, name: str) -> str:
    return f"#ifdef {name}\n{p.struct(p.good)}#else\n{p.struct(p.bad)}#endif\n"


_FLAGS: dict[str, Callable[[Project, str], Files]] = {
    "in a new compile_flags.txt": lambda p, flag: {"compile_flags.txt": f"-I{p.folder}\n{flag}\n"},
    "in a nearer compile_flags.txt": lambda p, flag: {f"{p.sources}/compile_flags.txt": f"-I../{p.folder}\n{flag}\n"},
    "in the database": lambda p, flag: {p.database: p.database_text((p.unit, p.other), ".", (flag,))},
    "in a nearer database": lambda p, flag: {f"{p.sources}/compile_commands.json": _database_below(p, flag)},
    "in a response file": lambda p, flag: {p.database: p.database_text((p.unit, p.other), ".", ("@flags.rsp",)), "flags.rsp": flag + "\n"},
    "in a database that the rule file names": lambda p, flag: {p.rule_file: 'compile_commands = "ci/db.json"\n' + p.rules(), "ci/db.json": _database_below(p, flag)},
}  # fmt: skip


def _database_below(p: Project, flag: str) -> str:
    """Return a database for a folder of the project."""
    return p.database_text((p.unit, p.other), "..", (flag,))


def _flag_change(name: str, make: Callable[[Project, str], Files]) -> None:
    @_change("flag", name, projects=(False,))
    def _(p: Project) -> Change:
        p.is_database_tracked |= "the database" in name or "response" in name
        macro = p.name().upper()
        return Change(p.files(p.struct(p.good)), {p.header: p.header_text(_hide_by_macro(p, macro)), **make(p, f"-D{macro}")})


for _name, _files in _FLAGS.items():
    _flag_change(_name, _files)


@_change("flag", "in a response file that was there", projects=(False,))
def _(p: Project) -> Change:
    p.is_database_tracked, p.defines, macro = True, ("@flags.rsp",), p.name().upper()
    base = p.files(p.struct(p.good), {"flags.rsp": "-DX\n"})
    return Change(base, {p.header: p.header_text(_hide_by_macro(p, macro)), "flags.rsp": f"-DX -D{macro}\n"}, flags=("-DX",))


@_change("flag", "in the database, which break it alone", projects=(False,))
def _(p: Project) -> Change:
    p.is_database_tracked, macro = True, p.name().upper()
    flag = f"-D{macro}={p.bad}"
    text = f"#ifndef {macro}\n#define {macro} {p.good}\n#endif\nstruct {p.tag} {{\n{p.members(f'char {p.pad}[{macro}];')}}};\n"
    return Change(p.files(text), {p.database: p.database_text((p.unit, p.other), ".", (flag,))}, flags=(flag,))


@_change("flag", "in the database, which has no unit any more", projects=(False,))
def _(p: Project) -> Change:
    p.is_database_tracked = True
    return Change(p.files(p.struct(p.good)), {p.header: p.header_text(p.struct(p.bad)), p.database: p.database_text((p.other,), ".")})


_MAKEFILE = {
    "of the kernel's Makefile": "KBUILD_CFLAGS += {}\n",
    "of its preprocessor": "KBUILD_CPPFLAGS += {}\n",
    "of all": "CPPFLAGS += {}\n",
}  # fmt: skip


def _makefile_change(name: str, line: str) -> None:
    @_change("flag", name, projects=(True,))
    def _(p: Project) -> Change:
        macro = p.name().upper()
        text = f"#ifdef {macro}\n{p.struct(p.bad)}#else\n{p.struct(p.good)}#endif\n"
        base = p.files(text)
        return Change(base, {"Makefile": f"{base['Makefile']}{line.format(f'-D{macro}')}"}, flags=(f"-D{macro}",))


for _name, _line in _MAKEFILE.items():
    _makefile_change(_name, _line)


@_change("flag", "of the kernel's Makefile that packs", projects=(True,), rules=APART)
def _(p: Project) -> Change:
    base = p.files(packable(p))
    return Change(base, {"Makefile": f"{base['Makefile']}KBUILD_CFLAGS += -fpack-struct=1\n"}, flags=("-fpack-struct=1",))
