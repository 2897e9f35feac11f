"""Random small programs that use a struct: initial values of all shapes, and addresses that go through many places."""

from __future__ import annotations

import random
from typing import NamedTuple

TYPES = (
    "char {}", "short {}", "int {}", "long {}", "unsigned char {}", "int {}[2]", "long {}[2]", "char {}[4]", "struct in {}",
    "long long {}",
)  # fmt: skip
CONTAINER = "struct w { int n; struct thing t; int k; };\n"
BESIDE = "struct h { char a; long b; int c; };\n"
UNTYPED = ("void *", "char *", "uintptr_t ", "const void *", "unsigned char *")

STEPS = (
    # what is outside of functions, a statement, and the expression for the address {e} behind them
    ("", "{type}{v} = ({type}){e};", "{v}"),
    ("", "{type}{v} = ({type}){e};", "{v}"),
    ("static void *f{v}(void *p) {{ return p; }}", "", "f{v}((void *){e})"),
    ("", "struct {{ int z; void *v; }} {v} = {{ 1, (void *){e} }};", "{v}.v"),
    ("struct k{v} {{ int z; void *v; }};", "struct k{v} {v}; {v}.v = (void *){e};", "{v}.v"),
    ("", "void *{v}[2] = {{ 0, (void *){e} }};", "{v}[1]"),
    ("static void *{v};", "{v} = (void *){e};", "{v}"),
    ("static void *f{v}(int n, ...) {{ va_list l; va_start(l, n); void *r = va_arg(l, void *); va_end(l); return r; }}", "", "f{v}(1, (void *){e})"),
    ("", "void *{v} = (void *){e}; void **q{v} = &{v};", "(*q{v})"),
    ("", "", "(y.{leaf} ? (void *){e} : (void *)0)"),
    ("static void *f{v}(void *p) {{ return p; }}\nstatic void *(*g{v})(void *) = f{v};", "", "g{v}((void *){e})"),
    ("", "union {{ void *v; char *c; }} {v}; {v}.v = (void *){e};", "{v}.c"),
    ("struct k{v} {{ int z; void *v; }};", "struct k{v} {v} = {{ .v = (void *){e} }}, m{v}; m{v} = {v};", "m{v}.v"),
    ("static void f{v}(void **o, void *p) {{ *o = p; }}", "void *{v}; f{v}(&{v}, (void *){e});", "{v}"),
    ("", "void *{v}; {v} = (0, (void *){e});", "{v}"),
    ("", "", "({{ void *{v} = (void *){e}; {v}; }})"),
)  # fmt: skip
ENDS = (
    # what is outside of functions, and a statement that uses the address {e}
    ("", "out((long)((struct thing *){e})->{leaf});"),
    ("", "out((long)((struct thing *){e})->{leaf});"),
    ("", "out(((struct h *){e})->{beside});"),
    ("", "out(*({word} *)((char *){e} + {offset}));"),
    ("", "out(*(char *)((char *){e} + offsetof(struct thing, {name})));"),
    ("", "out((({word} *){e})[{index}]);"),
    ("", "memset((void *){e}, 0, {size});"),
    ("", "y.{leaf} = 99; out(memcmp((void *){e}, &y, {part}) == 0);"),
    ("", "static char b[256] __attribute__((aligned(8))); memcpy(b, (void *){e}, sizeof x); out((long)((struct thing *)b)->{leaf});"),
    ("", "out((char *){e} {relation} (char *)&x.{name});"),
    ("static long f{v}(struct thing *p) {{ return (long)p->{leaf}; }}", "out(f{v}((struct thing *){e}));"),
    ("static int f{v}(const char *p, int n) {{ int k = 0; for (int i = 0; i < n; i++) k = 31 * k + p[i]; return k; }}",
     "out(f{v}((void *){e}, {length}));"),
    ("", "struct thing t; memcpy(&t, (void *){e}, sizeof t); out((long)t.{leaf});"),
    ("", "{word} t = 0; memcpy(&t, (void *){e}, sizeof t); out(t);"),
    ("", "out((long)((struct thing *)((char *){e} - offsetof(struct thing, {name})))->{leaf} * 0);"),
)  # fmt: skip


class Program(NamedTuple):
    """A program as the table of constructs has them, with the members of its struct."""

    text: str
    members: list[str]


class Maker:
    """Makes programs by chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.names = "abcdef"
        self.types = [self.chance.choice(TYPES) for _ in self.names]
        self.top: list[str] = []
        self.body: list[str] = []
        self.count = 0

    def program(self) -> Program:
        self.chance.choice((self.initialise, self.follow, self.follow))()
        members = [f"{each.format(name)};" for each, name in zip(self.types, self.names, strict=True)]
        body = "\n".join([*self.assign(), *self.body])
        return Program(CONTAINER + BESIDE + "\n".join(self.top) + "\n@@" + body, members)

    def leaves(self, name: str) -> list[str]:
        each = self.types[self.names.index(name)]
        if each.startswith("struct"):
            return [f"{name}.i", f"{name}.j"]
        if "[" in each:
            return [f"{name}[{k}]" for k in range(int(each[each.index("[") + 1]))]
        return [name]

    def assign(self) -> list[str]:
        all_leaves = [leaf for name in self.names for leaf in self.leaves(name)]
        lines = [f"x.{leaf} = {k + 1}; y.{leaf} = {k + 1};" for k, leaf in enumerate(all_leaves)]
        return ["memset(&x, 0, sizeof x); memset(&y, 0, sizeof y);", *lines]

    def show(self, what: str) -> None:
        for name in self.names:
            for leaf in self.leaves(name):
                self.body.append(f"out((long)({what}).{leaf});")

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    # -- initial values

    def number(self) -> str:
        return str(self.chance.choice((0, 0, 1, 2, 3, 7, 9)))

    def value_of(self, name: str) -> str:
        """A value for a member: in braces, or without."""
        leaves = self.leaves(name)
        if len(leaves) == 1:
            return self.chance.choice((self.number(), self.number(), f"{{{self.number()}}}"))
        inner = [self.number() for _ in leaves[: self.chance.randint(1, len(leaves))]]
        return "{ " + ", ".join(inner) + " }" if self.chance.random() < 0.7 else self.number()

    def list_of(self) -> str:
        """Values in braces for the struct."""
        parts = []
        mode = self.chance.choice(("names", "names", "position", "mixed"))
        for _ in range(self.chance.randint(1, 5)):
            name = self.chance.choice(self.names)
            if mode == "names" or (mode == "mixed" and self.chance.random() < 0.5):
                leaf = self.chance.choice(self.leaves(name))
                value = self.number() if leaf != name else self.value_of(name)
                leaf, value = (name, self.value_of(name)) if self.chance.random() < 0.4 else (leaf, value)
                if leaf == name and len(self.leaves(name)) > 1 and not value.startswith("{"):
                    value = f"{{ {value} }}"
                parts.append(f".{leaf} = {value}")
            else:
                parts.append(self.number())
        return "{ " + ", ".join(parts) + " }"

    def initialise(self) -> None:
        v, chance = self.fresh(), self.chance
        shape = chance.randint(0, 9)
        own, other = self.list_of(), self.list_of()
        prefix = chance.choice(("struct thing", "__typeof__(x)", "T", "const struct thing", "static struct thing"))
        if prefix == "T":
            self.top.append("typedef struct thing T;")
        if shape == 0:
            self.body.append(f"{prefix} {v} = {own};")
            self.show(v)
        elif shape == 1:
            self.body.append(f"{prefix} {v}[2] = {{ {own}, {other} }};")
            self.show(f"{v}[1]")
        elif shape == 2:
            flat = ", ".join(self.number() for _ in range(chance.randint(1, 9)))
            self.body.append(f"{prefix} {v}[2] = {{ {flat} }};")
            self.show(f"{v}[0]")
        elif shape == 3:
            self.body.append(f"struct w {v} = {{ 1, {own}, 2 }};")
            self.show(f"{v}.t")
        elif shape == 4:
            flat = ", ".join(self.number() for _ in range(chance.randint(1, 6)))
            self.body.append(f"struct w {v} = {{ {flat} }};")
            self.show(f"{v}.t")
        elif shape == 5:
            name = chance.choice(self.names)
            leaf = chance.choice(self.leaves(name))
            more = chance.choice(("", f", {self.number()}", f", .k = {self.number()}", f", .t.{leaf} = 4"))
            self.body.append(f"struct w {v} = {{ .t.{leaf} = {self.number()}{more} }};")
            self.show(f"{v}.t")
        elif shape == 6:
            self.body.append(f"struct w {v}[2] = {{ [1] = {{ .t = {own} }}, [0].n = 1 }};")
            self.show(f"{v}[1].t")
        elif shape == 7:
            self.top.append("#define MAKE(...) ((struct thing){ __VA_ARGS__ })")
            self.body.append(f"struct thing {v} = MAKE({own[1:-1]});")
            self.show(v)
        elif shape == 8:
            self.top.append(f"static struct thing {v}[] = {{ {own}, [2] = {other} }};")
            self.show(f"{v}[2]")
        else:
            self.top.append("typedef struct w W2[2];")
            self.body.append(f"W2 {v} = {{ {{ 1, {own} }}, {{ .t = {other} }} }};")
            self.show(f"{v}[0].t")

    # -- addresses

    def follow(self) -> None:
        chance = self.chance
        name = chance.choice(self.names)
        start = chance.choice(("&x", "&x", "&x", "z", "&w", "&w.t", f"&x.{name}", "&z[1]", "(&x + 0)"))
        if "z" in start:
            self.body.append("struct thing z[2] = { x, y };")
        if "w" in start:
            self.body.append("struct w w; memset(&w, 0, sizeof w); w.t = x;")
        expression = start
        for _ in range(chance.randint(0, 4)):
            expression = self.step(expression)
        self.finish(expression)

    def step(self, e: str) -> str:
        """Put an address in another place; return the expression that has it there."""
        values = {"v": self.fresh(), "e": e, "leaf": self.leaves("a")[0], "type": self.chance.choice(UNTYPED)}
        top, body, expression = (part.format(**values) for part in self.chance.choice(STEPS))
        self.top += [top] if top else []
        self.body += [body] if body else []
        return expression

    def finish(self, e: str) -> None:
        """Do something with an address."""
        chance = self.chance
        name = chance.choice(self.names)
        values = {
            "v": self.fresh(), "e": e, "name": name, "leaf": chance.choice(self.leaves(name)), "beside": chance.choice("abc"),
            "offset": chance.choice((0, 0, 1, 2, 4, 8, 8, 12, 16, 24)), "index": chance.choice((0, 1, 2, 3)),
            "word": chance.choice(("char", "short", "int", "long", "unsigned char")), "relation": chance.choice(("-", "<", "==")),
            "size": chance.choice(("4", "8", "16", "sizeof(struct thing)", f"offsetof(struct thing, {name})", f"sizeof(x.{name})")),
            "part": chance.choice(("8", "16", "sizeof y")), "length": chance.choice(("4", "8", "sizeof x")),
        }  # fmt: skip
        top, body = (part.format(**values) for part in chance.choice(ENDS))
        self.top += [top] if top else []
        self.body.append(body)
        if body.startswith("memset"):
            self.show("x")
