"""The text that `check --fix` leaves: without the comment, and otherwise as it was."""

from __future__ import annotations

from time import process_time

import pytest

from layoutlint.intent.annotations.removal import without_suppressions

OWN = "layoutlint: ignore[r] why"
CASES = {
    # text, line, what is left (or why nothing is removed)
    "behind a field": (f"struct s {{\n\tlong a; /* {OWN} */\n\tlong b;\n}};\n", 2, "struct s {\n\tlong a;\n\tlong b;\n};\n"),
    "on its own line": (f"struct s {{\n\t/* {OWN} */\n\tlong a;\n}};\n", 2, "struct s {\n\tlong a;\n};\n"),
    "on its own lines": ("/* layoutlint: ignore[r]\n * why\n * so */\nstruct s { long a; };\n", 1, "struct s { long a; };\n"),
    "to the end of the line": (f"struct s {{\n\tlong a; // {OWN}\n}};\n", 2, "struct s {\n\tlong a;\n};\n"),
    "at the end of the text": (f"struct s {{ long a; }}; // {OWN}", 1, "struct s { long a; };"),
    "before code": (f"/* {OWN} */ struct s {{ long a; }};\n", 1, "struct s { long a; };\n"),
    "between code": (f"struct s {{ long a; /* {OWN} */ long b; }};\n", 1, "struct s { long a; long b; };\n"),
    "with other line ends": (f"struct s {{\r\n\tlong a; /* {OWN} */\r\n\t// {OWN}\r\n}};\r\n", 2,
                             f"struct s {{\r\n\tlong a;\r\n\t// {OWN}\r\n}};\r\n"),
    "one of two comments": (f"struct s {{ long a; /* {OWN} */ /* hot */\n}};\n", 1, "struct s { long a; /* hot */\n};\n"),
    "between tokens": (f"struct s {{ long/* {OWN} */a; }};\n", 1, "the text around it would change"),
    "beside prose": (f"struct s {{ long a; /* the head. {OWN} */\n}};\n", 1, "its comment says more than this"),
    "beside another annotation": (f"struct s {{ long a; /* {OWN} layoutlint: hot-write */\n}};\n", 1, "its comment says more than this"),
    "above prose": (f"/* {OWN}\n *\n * The ring. */\nstruct s {{ long a; }};\n", 1, "its comment says more than this"),
    "twice": (f"struct s {{ long a; /* {OWN} */ long b; /* {OWN} */ }};\n", 1, "its line has it twice"),
    "on a line that continues": (f"struct s {{ long a; // {OWN} \\\n so\n}};\n", 1, None),
    "in a macro": (f'struct s {{ long a LAYOUTLINT({OWN[12:]}); }};\n', 1, "its line has no comment with it"),
    "in a string": (f'char *s = "/* {OWN} */";\n', 1, "its line has no comment with it"),
    "elsewhere": (f"struct s {{\n\tlong a; /* {OWN} */\n}};\n", 1, "its line has no comment with it"),
    "of another rule": ("struct s { long a; /* layoutlint: ignore[r2] why */ };\n", 1, "its line has no comment with it"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_removal(name):
    text, line, expected = CASES[name]
    left, reasons = without_suppressions(text, [(line, "ignore[r]")])
    if expected is None or reasons:
        assert left == text
        assert next(iter(reasons.values())).startswith(expected or "its ")
    else:
        assert left == expected


def test_several_at_once():
    """Each goes or stays by itself, in time that grows with the text."""
    members = [f"\tlong a{n};{space}/* layoutlint: ignore[r{n % 3}] why */ /* {n} */\n" for n, space in enumerate((" ", "\t") * 5_000)]
    text = "struct s {\n" + "".join(members) + "\tlong/* layoutlint: ignore[r0] why */z;\n};\n"
    wanted = [(n + 2, f"ignore[r{n % 3}]") for n in range(0, 10_000, 2)] + [(10_002, "ignore[r0]"), (9, "ignore[r9]")]
    started = process_time()
    left, reasons = without_suppressions(text, wanted)
    assert process_time() - started < 20
    assert reasons == {(10_002, "ignore[r0]"): "the text around it would change", (9, "ignore[r9]"): "its line has no comment with it"}
    kept = [f"\tlong a{n}; /* {n} */\n" if n % 2 == 0 else member for n, member in enumerate(members)]
    assert left == "struct s {\n" + "".join(kept) + "\tlong/* layoutlint: ignore[r0] why */z;\n};\n"
