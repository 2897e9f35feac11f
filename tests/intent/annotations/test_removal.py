"""The text that `check --fix` leaves: without the comment, and otherwise as it was."""

from __future__ import annotations

import pytest

from layoutlint.intent.annotations.removal import NotRemoved, without_suppression

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
    try:
        left = without_suppression(text, line, "ignore[r]")
    except NotRemoved as error:
        left = str(error)
    if expected is None:
        assert left.startswith("its ")
    else:
        assert left == expected
