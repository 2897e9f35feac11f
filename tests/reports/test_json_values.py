"""The text of JSON outputs: that of `json` with an indentation, whatever names contain."""

from __future__ import annotations

import json

import pytest

from layoutlint.escapes import json_text
from layoutlint.reports.json_values import document_text

NAMES = {
    "plain": "optimistic_spin_node",
    "no UTF-8": b"\xff\x80".decode(errors="surrogateescape"),
    "control characters": "\x1b[31m\x07\x9b\x7f",
    "right to left": "\u202eevil",
    "beyond 16 bits": "\U0001f980",
    "like JSON": '{"a": [1,\n2]} \\u0000 \\',
    "a command": "##[error]",
}


@pytest.mark.parametrize("name", NAMES)
def test_as_json_indents_it(name):
    text = NAMES[name]
    document = {"empty": [{}, [], ""], text: [None, True, -1, 10**30, 0.1, {"name": text}], "é": [[text], [[]]]}
    written = document_text(document)
    assert json.loads(written) == document
    assert written == json_text(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"
