"""The search for few moves against an oracle that tries them all, and against structs that few moves broke."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from layoutlint.intent.toml import rule_file
from layoutlint.lint.options import Options
from tests.harness.command import run
from tests.harness.effort import draws
from tests.harness.tools import need
from tests.suggestion.move_oracle import Layout, Problem, fewest_moves, move
from tests.suggestion.moved_structs import PRELUDE, Drawer, toml, undo


def suggest(problem: Problem, folder: Path) -> dict[str, Any]:
    """What the command prints of a problem."""
    (folder / "q.h").write_text(PRELUDE + problem.text(problem.declared))
    (folder / "q.toml").write_text(toml(problem))
    made = run("suggest", "q.h", "q", "--rules", "q.toml", "--no-packs", "--format", "json", cwd=folder)
    return json.loads(made.stdout)  # type: ignore[no-any-return]


def faults(problem: Problem, made: dict[str, Any], fewest: int) -> Iterator[str]:
    """What is wrong with an order; with `fewest` moves one is known that keeps all rules."""
    before = {each["rule"]: each["before"] == "kept" for each in made["rules"]}
    broken = problem.broken(problem.declared)
    judged = {f"r{number}": rule not in broken for number, rule in enumerate(problem.rules)}
    if before and before != judged:
        yield f"rules are kept: {before}, {judged}"
    if made["status"] not in ("optimal", "feasible"):
        yield f"{made['status']} of an order with {fewest} moves: {made['reason']}"
        return
    order, moves = problem.slices_of(made["order"]), made["aims"][0]
    yield from (f"breaks {rule}" for rule in problem.broken(order))
    if not problem.is_allowed(order):
        yield "the text forbids it"
    if moves["after"] != problem.count_moves(order):
        yield f"{moves} of {problem.count_moves(order)}"
    if not moves["bound"] <= moves["after"] <= fewest:
        yield f"{moves}, {fewest} suffice"
    if moves["bound"] < min(moves["after"], 2):
        yield f"{moves}: up to two moves are proved"


@pytest.mark.parametrize("seed", range(draws(6, 300)))
def test_what_few_moves_broke_few_moves_mend(tmp_path, seed):
    """Structs of 20 to 300 members that moves made of one whose rules are kept."""
    chance = random.Random(seed)
    count = chance.randrange(20, draws(60, 301))
    while True:
        problem, moves = undo(Drawer(chance).problem(count, True), chance, chance.choice((1, 2, 2, 3)))
        if problem.broken(problem.declared) and problem.is_allowed(problem.declared):
            break
    fewest = fewest_moves(problem)
    assert list(faults(problem, suggest(problem, tmp_path), moves if fewest is None else min(fewest, moves))) == []


@pytest.mark.parametrize("seed", range(draws(12, 300)))
def test_as_few_moves_as_the_oracle(tmp_path, seed):
    """Any rules of which some are broken, on small structs that two moves mend."""
    chance, fewest = random.Random(seed), None
    while fewest is None:
        problem = Drawer(chance).problem(chance.randrange(8, 40), False)
        fewest = fewest_moves(problem)
    assert list(faults(problem, suggest(problem, tmp_path), fewest)) == []


def test_gcc_lays_out_orders_as_the_oracle(tmp_path):
    """Offsets of all fields and sizes; of bit-fields the first bit that is set."""
    compiler, chance = need("gcc", "-O0"), random.Random(5)
    text, expected = ["#include <stdio.h>\n#include <stddef.h>\n#include <string.h>\n", PRELUDE, LOOK], []
    body = []
    for number in range(20):
        problem = Drawer(chance).problem(chance.randrange(20, 60), True)
        first = chance.choice(list(problem.runs))
        place = chance.choice(problem.places(first, 0, len(problem.units)))
        order = move(0, len(problem.units), [(place, problem.runs[first], (problem.runs[first],))])
        name, layout = f"q{number}", Layout(problem, order)
        text.append(problem.text(order, name))
        for path, (at, member, *_) in problem.where.items():
            unit = problem.units[at]
            assert unit is not None
            is_bits = unit.members[member].is_bit_field
            body.append(f"{{ struct {name} v; memset(&v, 0, sizeof v); v.{path} = -1; look(&v, sizeof v); }}" if is_bits else
                        f'printf("%zu\\n", 8 * offsetof(struct {name}, {path}));')  # fmt: skip
            expected.append(layout.spot(path)[0])
        body.append(f'printf("%zu\\n", sizeof(struct {name}));')
        expected.append(layout.size)
    (tmp_path / "q.c").write_text("".join(text) + "int main(void) {\n" + "\n".join(body) + "\nreturn 0; }\n")
    subprocess.run([compiler, "-w", "q.c", "-o", "q"], cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "q"], capture_output=True, text=True, check=True).stdout
    assert list(map(int, printed.split())) == expected


LOOK = """\
static void look(const void *object, size_t size) {
	const unsigned char *bytes = object;
	for (size_t bit = 0; bit < 8 * size; bit++)
		if (bytes[bit / 8] >> bit % 8 & 1) { printf("%zu\\n", bit); return; }
}
"""


PAIRS = [each for at in range(45) for each in (f"char a{at};", f"long b{at};")]
NEST = ["char p[5];", "struct {", "void *n;", "int y;", "};", "unsigned x;"]
MENDED = [
    # members, rule, the fewest moves: each makes the fault smaller, none makes it go away
    pytest.param(PAIRS, 'kind = "size"\nmax = 640', 10, id="each move into a hole makes the struct 8 bytes smaller"),
    pytest.param(PAIRS, 'kind = "holes"\nmax = 244', 9, id="each move into a hole makes holes 8 bytes smaller"),
    pytest.param(
        [*PAIRS[:40], *NEST, "int i;", *PAIRS[40:]], 'kind = "adjacent"\nmax_gap = 0\nfields = ["x", "y"]', 3,
        id="y moves within its struct; x, and i or the struct, move so that nothing is between",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("members", "rule", "moves"), MENDED)
def test_rules_that_no_single_move_mends(tmp_path, members, rule, moves):
    (tmp_path / "q.h").write_text("\n\t".join(["struct q {", *members]) + "\n};\n")
    (tmp_path / "q.toml").write_text(f'[[rule]]\nid = "r"\nstruct = "q"\nwhy = "w"\n{rule}\n')
    made = json.loads(run("suggest", "q.h", "q", "--rules", "q.toml", "--no-packs", "--format", "json", cwd=tmp_path).stdout)
    assert made["status"] in ("optimal", "feasible"), made["reason"]
    assert made["aims"][0]["after"] == moves


def test_a_declaration_of_several_members_moves_as_one(tmp_path):
    """Nothing comes between them, and they count once."""
    (tmp_path / "q.h").write_text("struct q { long a; long *b, *c; char x[40]; long e, f; };\n")
    rule = '[[rule]]\nid = "r"\nstruct = "q"\nkind = "separate"\nfields = [["a"], ["b", "c"]]\nwhy = "w"\n'
    (tmp_path / "q.toml").write_text(rule)
    made = json.loads(run("suggest", "q.h", "q", "--rules", "q.toml", "--no-packs", "--format", "json", cwd=tmp_path).stdout)
    assert made["status"] == "optimal"
    assert made["aims"][0] == {"aim": "moves", "before": 0, "after": 1, "bound": 1}
    order = made["order"]
    assert order.index("c") == order.index("b") + 1
    assert order.index("f") == order.index("e") + 1


def test_what_is_tried_without_the_solver(tmp_path, monkeypatch):
    """Few moves need no OR-tools; a proof that no order exists does, and the reason says so."""
    import builtins

    from layoutlint.suggestion.builds import Request
    from layoutlint.suggestion.run import suggest

    real = builtins.__import__

    def refuse(name: str, *rest: object, **more: object):
        if name.partition(".")[0] == "ortools" or name == "layoutlint.suggestion.orders.search":
            raise ModuleNotFoundError("No module named 'ortools'", name="ortools")
        return real(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)
    rule = '[[rule]]\nid = "r"\nstruct = "q"\nkind = "separate"\nfields = [["a"], ["b"]]\nwhy = "w"\n'
    (tmp_path / "q.toml").write_text(rule)
    (tmp_path / "q.h").write_text("struct q { long a, c; char x[56]; long b; };\nstruct p { long a; long b; };\n")
    (tmp_path / "p.toml").write_text(rule.replace('"q"', '"p"'))
    packs = rule_file.load([str(tmp_path / "q.toml")])
    kept = suggest(str(tmp_path / "q.h"), Request("q"), packs, (), Options())
    assert (kept.status, len(kept.moves)) == ("optimal", 0)
    packs = rule_file.load([str(tmp_path / "p.toml")])
    contradiction = suggest(str(tmp_path / "q.h"), Request("p"), packs, (), Options())
    assert (contradiction.status, contradiction.new) == ("unknown", None)
    assert "the nearest order breaks r; to search further, OR-tools: is not installed" in contradiction.reason


def test_a_search_that_gives_up_says_what_is_in_the_way(tmp_path):
    body = "".join(f"\tlong m{at};\n" for at in range(260))
    (tmp_path / "q.h").write_text(f"struct q {{\n{body}}};\n")
    rule = '[[rule]]\nid = "{}"\nstruct = "q"\nkind = "{}"\nfields = {}\nwhy = "w"\n'
    rules = rule.format("apart", "separate", '[["m0"], ["m1"]]') + rule.format("near", "together", '["m0", "m1"]')
    (tmp_path / "q.toml").write_text(rules)
    made = run("suggest", "q.h", "q", "--rules", "q.toml", "--no-packs", "--effort", "0.1", cwd=tmp_path)
    assert made.returncode == 3
    assert "no order was found within --effort 0.1; the nearest order breaks near; raise --effort" in " ".join(made.stdout.split())


HOLES = "char a; long b; char c; long d; char e; long f; int g; long h;"
"""Each move into the hole behind `a` makes it 8 bytes smaller."""
STEPS = [
    # words, the size and the moves of the order, and the text of the steps
    ((), 40, 3),
    (("--moves", "2"), 48, 2),
    (("--moves", "1"), 56, 1),
    (("--moves", "9"), 40, 3),
]


@pytest.mark.parametrize(("words", "size", "moves"), STEPS)
def test_the_sizes_that_fewer_moves_reach(tmp_path, words, size, moves):
    (tmp_path / "q.h").write_text(f"struct q {{\n{HOLES.replace('; ', ';' + chr(10))}\n}};\n")
    made = json.loads(run("suggest", "q.h", "q", "--smallest", *words, "--no-packs", "--format", "json", cwd=tmp_path).stdout)
    assert made["steps"] == [{"moves": at, "size": 64 - 8 * at, "contention": None} for at in range(4)]
    assert (made["size"], made["aims"][1]["after"]) == ([64, size], moves)
    text = run("suggest", "q.h", "q", "--smallest", *words, "--no-packs", cwd=tmp_path).stdout
    least = " (the least possible)"
    assert f"64 bytes; 1 move: 56; 2 moves: 48; 3 moves: 40{least}: --moves N takes fewer" in " ".join(text.split())


def test_moves_are_for_the_smallest(tmp_path):
    (tmp_path / "q.h").write_text("struct q { char a; long b; };\n")
    made = run("suggest", "q.h", "q", "--moves", "1", "--no-packs", cwd=tmp_path)
    assert made.returncode == 2
    assert "--moves limits --smallest and --evidence" in made.stderr


PURPOSES = [
    # members, and the move with what it is for
    ("long a; long b; char c[64];", "move `b` behind `c`: for r"),
    ("long first; char c[64]; long a; long b;", "move `c` behind `a`: to part the fields of r"),
]


@pytest.mark.parametrize(("members", "move"), PURPOSES)
def test_what_a_move_is_for(tmp_path, members, move):
    (tmp_path / "q.h").write_text(f"struct q {{\n{members.replace('; ', ';' + chr(10))}\n}} __attribute__((aligned(64)));\n")
    rule = '[[rule]]\nid = "r"\nstruct = "q"\nkind = "separate"\nfields = [["a"], ["b"]]\nwhy = "w"\n'
    (tmp_path / "q.toml").write_text(rule)
    made = run("suggest", "q.h", "q", "--rules", "q.toml", "--no-packs", cwd=tmp_path).stdout
    assert move in made


SLACK = "".join(f"\tchar c{at};\n\tlong a{at};\n" for at in range(80))
"""1,280 bytes, of which 560 are padding: more sizes than a few dozen can be reached."""
SLACK_RULES = [
    # kind and keys of the rule on it; one move keeps each
    ('kind = "size"\nexact = 1272',),
    ('kind = "size"\nmax = 1272',),
    ('kind = "separate"\nfields = [["a3"], ["a5"]]',),
]


@pytest.mark.parametrize("rule", [each for (each,) in SLACK_RULES])
def test_all_sizes_of_a_struct_with_much_padding_are_known(tmp_path, rule):
    (tmp_path / "q.h").write_text(f"struct q {{\n{SLACK}}};\n")
    (tmp_path / "q.toml").write_text(f'[[rule]]\nid = "r"\nstruct = "q"\nwhy = "w"\n{rule}\n')
    made = json.loads(run("suggest", "q.h", "q", "--rules", "q.toml", "--no-packs", "--format", "json", cwd=tmp_path).stdout)
    assert (made["status"], made["aims"][0]["after"], made["aims"][0]["bound"]) == ("optimal", 1, 1)


def test_an_unnamed_bit_field_before_a_member_that_could_be_aligned(tmp_path):
    body = "char a; long x[4]; unsigned int : 14; long b; char y[200];".replace("; ", ";\n")
    (tmp_path / "q.h").write_text(f"struct q {{\n{body}\n}};\n")
    (tmp_path / "q.toml").write_text('[[rule]]\nid = "r"\nstruct = "q"\nwhy = "w"\nkind = "together"\nfields = ["a", "b", "x"]\n')
    assert run("suggest", "q.h", "q", "--rules", "q.toml", "--no-packs", "--effort", "0.1", cwd=tmp_path).returncode == 1


def test_a_struct_without_rules_has_no_classes_of_sizes(tmp_path):
    """As benchmarks search it: nothing is stated, and nothing is broken."""
    from layoutlint.model.record import replace
    from layoutlint.suggestion.builds import Request, read_subject
    from layoutlint.suggestion.orders import few_moves
    from layoutlint.suggestion.run import _joint_search

    (tmp_path / "q.h").write_text("struct q {\n\tchar a;\n\tlong b;\n\tchar c;\n\tlong d;\n};\n")
    subject = read_subject(str(tmp_path / "q.h"), "q", (), (), Options())
    task = _joint_search([subject], "q.h", Request("q")).task
    bare = tuple(replace(build, rules=0, classes=()) for build in task.builds)
    solution = few_moves.shrink(replace(task, builds=bare, aims=("size", "moves")), 1.0)
    assert solution.order
    assert solution.reached[0].value == solution.steps[-1].size
