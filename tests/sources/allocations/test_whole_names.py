"""All that names and expressions in C text mean: structs and typedefs of a text, variables at each place, tokens.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

import re

from layoutlint.sources.allocations import declarations, expressions, struct_definitions
from layoutlint.sources.allocations.declarations import DeclaredNames, Meaning, Unclear
from layoutlint.sources.allocations.expressions import tokens

DEFINITIONS = [
    # structs and typedefs that a text defines
    "struct a { struct b b; };", "struct a { struct b *b; struct b **c, d; };", "struct a { struct b b[2], *c[2]; };", "union a { union b b; };",
    "struct a { const struct b *b; volatile struct b c; struct b __rcu *d; struct b * const e; };", "struct a { struct b (*f)(struct c *x); int n; struct b e; };",
    "struct a { struct { struct b deep; } in; struct c out; };", "struct a { struct in { struct b deep; } in; struct c out; };", "struct a { union { struct b b; }; };",
    "struct a { struct b b; }; struct a { struct b *b; struct c c; };", "struct a { struct b b; } } struct c { struct d d; };", "struct { struct b b; };",
    "struct outer { struct a { struct b b; } a; };", "int f(void) { struct a { struct b b; }; }", "struct a { struct b b;", "struct a { int n; struct b x : 3; struct b; };",
    "struct a{struct b*b;struct b c;};", "struct a\n{\n\tstruct b\n\t\t*b,\n\t\tc;\n};", "struct a { struct b b, ; struct c , c; structure b e; };", "} struct a { struct b b; };",
    "struct a { { struct b b; } } x; struct c { struct d d; };", "struct a { struct b b; }; }; struct c { struct d d; };",
    "typedef struct a a_t;", "typedef const struct a a_t, *a_p, a_a[2];", "typedef struct { int n; } a_t;", "typedef struct a { int n; } a_t, *a_p;", "typedef union a { int n; } a_t;",
    "typedef struct a { struct { int n; } in; } a_t;", "typedef struct a { int n; } __attribute__((aligned(8))) a_t;", "typedef struct __attribute__((packed)) a { int n; } a_t;",
    "typedef struct __attribute__((packed)) { int n; } a_t;", "typedef struct __attribute__ (( aligned (sizeof(long)), packed ))\na\n{ int n; } a_t;",
    "struct __attribute__((packed)) a { struct b b; };", "struct a { struct b *b __attribute__((aligned(8))); struct b c; } __attribute__((packed));",
    "typedef struct __attribute((packed)) a { int n; } a_t;", "typedef struct __declspec(align(64)) a { int n; } a_t;", "struct [[gnu::aligned(64)]] a { struct b b; };",
    "union __packed a { struct b b; };", "struct __a { struct b b; }; struct __b c { struct d d; }", "typedef struct __attribute__((aligned(1 << (sizeof(int))))) a { int n; } a_t;",
    "struct a { int n[2[x[0]]]; struct b b; };", "typedef struct a a_t __attribute__((aligned(64)));", "typedef struct __attribute__((packed)) a a_t;", "typedef struct __attribute__((aligned(1 { int n; } a_t;",
    "typedef struct a { int n; } __packed a_t;", "typedef struct { int n; } a_t __attribute__((packed, aligned(8)));", " typedef struct { int n; } late_t;", "struct a { int n; }; struct a a_t;",
    "typedef int a_t;", "typedef struct a (*a_f)(void);", "typedef struct a { int n; ", "typedef struct a { int n; } a_t; typedef struct b a_t;", "typedef struct b a_t; typedef struct a { int n; } a_t;",
    "typedef struct a a_t; typedef struct a a2_t; typedef a_t a3_t;",
]  # fmt: skip
LENGTHS = (-2, -1, 0, 1, 2)
SOURCE = """\
struct ring;
static struct ring *top;
struct ring tops[4], other;
union both both;
struct twice *twice;
struct twice twice;
extern const struct ring __rcu *outside;
struct holder { struct ring one; struct slot *two, **more; struct slot three[3]; struct in { int n; } in; struct holder *next; };
struct ring { struct slot slot; };
int first(struct ring *p, const struct slot *q, ring_t *r, int n, size_t len, struct slot w[2])
{
	struct holder *h = x, *i, j, **k, l[2];
	struct holder static_like;
	static const volatile struct slot *sv;
	struct slot * const sc = 0, __user *su;
	unsigned long many; slot_t s1, *s2; u32 word;
	for (struct ring *loop = p; loop; loop++) ;
	call(struct_arg, *deref, struct_like * product);
	return value * p; a = b * c;
	AT_HERE;
	struct late *late;
}
int second(struct slot *p)
{
	if (p) { struct ring *p; AT_INNER; }
	x = (struct cast *)name; sizeof(struct ring) * times;
	struct ring *f(int), *g; p->field; p.dot; typeof(p) tp; else_t *e;
	struct holder h, a = f(b, c), d; struct ring y = { z, u };
	AT_SECOND;
}
AT_END;
"""
OPERANDS = [
    "p", "*p", "p[0]", "p[1]", "**p", "q", "*q", "r", "*r", "n", "len", "w", "*w", "w[0]", "h", "*h", "i", "*i", "j", "*j", "k", "*k", "l", "*l", "l[0]", "sv", "*sv", "sc", "*sc", "su", "*su", "many",
    "s1", "*s1", "s2", "*s2", "word", "*word", "loop", "*loop", "struct_arg", "*deref", "product", "*product", "value", "c", "late", "*late", "top", "*top", "tops", "*tops", "tops[0]", "twice", "*twice", "other", "*other",
    "both", "*both", "outside", "*outside", "static_like", "unknown", "*unknown", "name", "*name", "times", "f", "*f", "g", "*g", "field", "dot", "tp", "e", "*e", "a", "d", "*d", "y", "z", "u", "x",
    "struct ring", "union both", "struct ring *", "struct ring x", "const struct ring", "ring_t *", "int", "unsigned long", "u32", "char *", "(struct ring)", "(*p)", "((p))", "struct (ring)", "",
    "h->one", "*h->one", "h->two", "*h->two", "*h->more", "**h->more", "h->more", "h->three", "*h->three", "h->three[0]", "j.one", "*j.two", "h.one", "j->one", "h->next->one", "*h->next->two", "h->next.one",
    "h->one.slot", "h->in", "h->none", "h->", "h->one.", "p->slot", "*p->slot", "top->slot", "*(h->two)", "&h->one", "h + one", "tops.slot", "both.n", "k->one", "s1.x", "->x", "1->x",
]  # fmt: skip
PLACES = [match.start() for match in re.finditer(r"AT_\w+", SOURCE)]
EXPRESSIONS = [
    "sizeof(*p)", "sizeof (struct ring)", "a->b.c[1]", "-1", "a - 1", "a -1", "(-a)", "!a", "a & b", "&a", "f(&a, *b)", "a * b", "* a", "a * *b", "(a) * b", "[a] & b", "sizeof * p", "sizeof -a", "2 * a", "a ? b : c",
    "a << 2", "f(a)(b)", "a && !b", "a, b", "(a, b)", "((a))", "(a)(b)", "(a) + (b)", "(", ")", "()", "", "f()", "a[0]", "x = -y", "return -y", "{ a, b }", "a; b", "a->b->c", "0x10", "0X1FuL", "010", "0", "00", "7", "(7)", "-7",
    "999999999999999999", "1000000000000000000", "0x123456789abcdef", "0x1123456789abcdef0", "1.5", "'a'",
]  # fmt: skip


def show(meaning: Meaning) -> str:
    """Return a meaning in short: `ring`, `ring_t, a typedef`, `-` for what is no struct, or why it is not clear."""
    if isinstance(meaning, Unclear):
        return meaning.reason
    return "-" if meaning is None else f"{meaning.name}, a typedef" if meaning.is_typedef else meaning.name


def test_definitions(golden):
    lines = []
    for text in DEFINITIONS:
        fields = {tag: {name: sorted(types) for name, types in sorted(own.items())} for tag, own in struct_definitions.fields_by_tag(text).items()}
        lines += [text, f"  {fields} {struct_definitions.struct_typedefs(text)}"]
    golden("definitions.txt", "".join(f"{line}\n" for line in lines))


def test_long_definitions(monkeypatch):
    """Bodies are read up to a length."""
    body = " struct b b; "
    monkeypatch.setattr(struct_definitions, "_LONGEST", len(body))
    found = [[*struct_definitions.fields_by_tag(f"struct a {{{body}{' ' * more}}};")] for more in (-1, 0)]
    found = [[*struct_definitions.fields_by_tag(f"struct a {{{body[1:]}}};")], *found[1:]]
    assert found == [["a"], []]
    named = [struct_definitions.struct_typedefs(f"typedef struct a {{{' ' * (len(body) + more)}}} a_t;") for more in LENGTHS]
    assert named == [{"a_t": "a"}, {"a_t": "a"}, {}, {}, {}]


def test_meanings(golden):
    """What each operand is at some places of a source, by its declarations before them."""
    names = DeclaredNames(SOURCE)
    lines = [f"{operand}: {'; '.join(show(names.meaning(tokens(operand), at)) for at in PLACES)}" for operand in OPERANDS]
    golden("meanings.txt", "".join(f"{line}\n" for line in lines))


def test_far_declarations(monkeypatch):
    """Declarations count up to a distance before a use; a long head of a function is one."""
    monkeypatch.setattr(declarations, "_FAR", 1600)
    cases = [("int f(void)\n{\n\tstruct ring *p;%s x = p;\n}\n", 3160), ("int f(void)\n{\n\tstruct ring %s*p; x = p;\n}\n", 80), ("int f(ring_t *p %s) { x = p; }", 80)]
    found = []
    for text, first in cases:
        texts = [text % (" " * far) for far in range(first, first + 30)]
        meanings = [show(DeclaredNames(each).meaning(("*", "p"), each.index("x ="))) for each in texts]
        found.append([first + number for number in range(1, 30) if meanings[number] != meanings[number - 1]])
    assert found == [[3169], [85], [96]]


def test_expressions(golden):
    lines = []
    for text in EXPRESSIONS:
        words = tokens(text)
        parts = [expressions.spell(part) for sign in (",", "*") for part in expressions.split(words, sign)]
        binary = [expressions.spell(part) for part in expressions.split(words, "*", is_binary=True)]
        number = expressions.number(words) if words else None
        lines.append(f"{text}: {words} `{expressions.spell(words)}` {expressions.spell(expressions.strip_parentheses(words))!r} {number} {parts} {binary}")
    golden("expressions.txt", "".join(f"{line}\n" for line in lines))
