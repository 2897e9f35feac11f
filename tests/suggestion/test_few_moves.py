"""The search for few moves against an oracle that tries them all, and against structs that few moves broke."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from layoutlint.intent.toml import rule_file
from layoutlint.lint.options import Options
from tests.harness.command import run
from tests.harness.effort import draws
from tests.suggestion.move_oracle import Condition, Member, Problem, fewest_moves

TYPES = (
    ("char", 1, 1), ("short", 2, 2), ("int", 4, 4), ("unsigned int", 4, 4), ("long", 8, 8), ("void *", 8, 8),
    ("char *", 8, 8), ("struct list_head", 16, 8), ("struct odd", 12, 4),
)  # fmt: skip
PRELUDE = (
    "struct list_head { struct list_head *next, *prev; };\nstruct odd { int a; char b; short c; int d; };\n"
)
KINDS = ("separate", "separate", "separate", "together", "order", "distance", "offset")


def draw_rule(rng: random.Random, count: int) -> Condition:
    """A rule on members that stand near one another, as those of hot structs do."""
    kind = rng.choice(KINDS)
    low = rng.randrange(max(1, count - 9))
    near = range(low, min(count, low + 9))
    if kind == "separate":
        chosen = rng.sample(near, rng.choice((2, 3, 4)))
        half = len(chosen) // 2
        return Condition(kind, (tuple(chosen[:half]), tuple(chosen[half:])))
    if kind == "offset":
        return Condition(kind, ((rng.choice(near),),), 0)
    if kind == "distance":
        return Condition(kind, (tuple(rng.sample(near, 2)),), rng.choice((64, 128)))
    return Condition(kind, (tuple(rng.sample(near, 2)),))


def draw_problem(rng: random.Random, count: int) -> Problem:
    """A struct with two or three rules, at least one of which it breaks."""
    while True:
        members = tuple(Member(f"m{at}", *rng.choice(TYPES)) for at in range(count))
        rules = tuple(draw_rule(rng, count) for _ in range(rng.choice((2, 2, 3))))
        problem = Problem(members, rules)
        if problem.broken(tuple(range(count))):
            return problem


def toml(problem: Problem) -> str:
    """The rules as a rule file."""
    text = []
    for number, rule in enumerate(problem.rules):
        groups = [[problem.members[at].name for at in group] for group in rule.groups]
        fields = str(groups if rule.kind == "separate" else groups[0]).replace("'", '"')
        keys = {"distance": f"min = {rule.number}", "offset": f"line = {rule.number}"}.get(rule.kind, "")
        text.append(
            f'[[rule]]\nid = "r{number}"\nstruct = "q"\nkind = "{rule.kind}"\nwhy = "w"\nfields = {fields}\n{keys}\n'
        )
    return "".join(text)


def solve(problem: Problem, folder: Path, effort: float = 4.0):
    """The task of a problem, and what the search finds."""
    pytest.importorskip("ortools")
    from layoutlint.lint.reordering.builds import Request, read_subject
    from layoutlint.lint.reordering.run import _joint_search
    from layoutlint.suggestion import few_moves

    header, rules = folder / "q.h", folder / "q.toml"
    body = "".join(f"\t{each.type} {each.name};\n" for each in problem.members)
    header.write_text(f"{PRELUDE}struct q {{\n{body}}};\n")
    rules.write_text(toml(problem))
    subject = read_subject(str(header), "q", rule_file.load([str(rules)]), (), Options())
    task = _joint_search([subject], str(header), Request("q")).task
    return task, few_moves.solve(task, effort)


@pytest.mark.parametrize("seed", range(draws(40, 300)))
def test_as_few_moves_as_the_oracle(tmp_path, seed):
    rng = random.Random(seed)
    problem = draw_problem(rng, rng.randrange(5, 26))
    task, solution = solve(problem, tmp_path)
    expected = fewest_moves(problem)
    if not solution.order:
        assert expected is None
        return
    assert problem.broken(solution.order) == []
    moves = solution.reached[0]
    assert moves.value == task.order.count_moves(solution.order)
    assert expected is None or moves.value == expected
    assert moves.bound <= (moves.value if expected is None else expected)
    assert moves.value > 2 or moves.bound == moves.value


def draw_broken(rng: random.Random) -> Problem:
    """A struct that three moves made of one whose rules are kept."""
    while True:
        count = rng.choice((20, 60, 120, 200))
        members = [Member(f"m{at}", *rng.choice(TYPES)) for at in range(count)]
        drawn = (draw_rule(rng, count) for _ in range(5))
        rules = [rule for rule in drawn if Problem(tuple(members), (rule,)).is_kept(rule, range(count))]
        order = list(range(count))
        for _ in range(3):
            named = [at for rule in rules for at in rule.named] or [0]
            order.insert(rng.randrange(count), order.pop(order.index(rng.choice(named))))
        place = {member: at for at, member in enumerate(order)}
        moved = tuple(
            Condition(rule.kind, tuple(tuple(place[at] for at in group) for group in rule.groups), rule.number)
            for rule in rules
        )
        renamed = (Member(f"m{number}", members[at].type, members[at].size, members[at].align) for number, at in enumerate(order))
        problem = Problem(tuple(renamed), moved)
        if problem.broken(range(count)):
            return problem


@pytest.mark.parametrize("seed", range(draws(10, 60)))
def test_what_three_moves_broke_three_moves_mend(tmp_path, seed):
    problem = draw_broken(random.Random(1000 + seed))
    _, solution = solve(problem, tmp_path)
    assert solution.order
    assert problem.broken(solution.order) == []
    assert solution.reached[0].value <= 3


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

    from layoutlint.lint.reordering import Request, suggest

    real = builtins.__import__

    def refuse(name: str, *rest: object, **more: object):
        if name.partition(".")[0] == "ortools" or name == "layoutlint.suggestion.search":
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
    assert made["steps"] == [{"moves": at, "size": 64 - 8 * at} for at in range(4)]
    assert (made["size"], made["aims"][1]["after"]) == ([64, size], moves)
    text = run("suggest", "q.h", "q", "--smallest", *words, "--no-packs", cwd=tmp_path).stdout
    least = " (the least possible)"
    assert f"64 bytes; 1 move: 56; 2 moves: 48; 3 moves: 40{least}: --moves N takes fewer" in " ".join(text.split())


def test_moves_are_for_the_smallest(tmp_path):
    (tmp_path / "q.h").write_text("struct q { char a; long b; };\n")
    made = run("suggest", "q.h", "q", "--moves", "1", "--no-packs", cwd=tmp_path)
    assert made.returncode == 2
    assert "--moves limits the moves of --smallest" in made.stderr


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
    from layoutlint.suggestion import few_moves

    rng = random.Random(7)
    task, _ = solve(draw_problem(rng, 12), tmp_path)
    bare = tuple(replace(build, rules=0, classes=()) for build in task.builds)
    solution = few_moves.shrink(replace(task, builds=bare, aims=("size", "moves")), 1.0)
    assert solution.order
    assert solution.reached[0].value == solution.steps[-1].size
