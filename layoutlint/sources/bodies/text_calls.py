"""What functions of the C library read and write as a text, up to a byte of value 0."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutlint.model.flows import Address, Pass, Text
from layoutlint.readers.c_tokens import number
from layoutlint.readers.clang import libclang
from layoutlint.sources.bodies.flow_numbers import FlowNumbers
from layoutlint.sources.bodies.flow_types import TEXT
from layoutlint.sources.bodies.trees import Node, skip_layers

_READS: dict[str, tuple[int, ...]] = {
    "strlen": (0,), "strcmp": (0, 1), "strcasecmp": (0, 1), "strcoll": (0, 1), "strcpy": (1,), "stpcpy": (1,),
    "strcat": (0, 1), "strncat": (0,), "strchr": (0,), "strrchr": (0,), "strstr": (0, 1), "strpbrk": (0, 1),
    "strspn": (0, 1), "strcspn": (0, 1), "strtok": (0,), "strdup": (0,), "puts": (0,), "fputs": (0,),
    "perror": (0,), "atoi": (0,), "atol": (0,), "atoll": (0,), "atof": (0,), "strtol": (0,), "strtoul": (0,),
    "strtoll": (0,), "strtoull": (0,), "strtod": (0,), "fopen": (0, 1), "open": (0,), "getenv": (0,),
}  # fmt: skip
"""The functions that read a text, and which arguments it is."""
_PRINTS = {
    "printf": 0, "fprintf": 1, "dprintf": 1, "sprintf": 1, "snprintf": 2, "asprintf": 1, "syslog": 1,
    "printk": 0,
}  # fmt: skip
"""The functions that print, and which argument is the format; the others follow it."""
_SCANS = {"scanf": 0, "fscanf": 1, "sscanf": 1}
TEXT_FUNCTIONS = frozenset((*_READS, *_PRINTS, *_SCANS))
_CONVERSION = re.compile(
    r"%[-+ #0']*+(?P<width>\*|\d*+)(?:\.(?P<precision>\*|\d*+))?(?P<length>[hlLqjzt]*)(?P<kind>[a-zA-Z%\[])"
)
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]+|[0-7]{1,3}|.)", re.DOTALL)


class TextCalls(FlowNumbers):
    """Notes the texts that calls read and write."""

    def _note_texts(
        self, node: Node, plain: str, arguments: list[Node], values: list[list[Address]]
    ) -> None:
        """Note what a call of a function by this name does with texts."""
        for position in _READS.get(plain, ()):
            self._note_text(node, values[position : position + 1], "read", 0)
        if plain in _PRINTS:
            self._note_printed(node, plain, arguments, values)
        elif plain in _SCANS:
            self._note_scanned(node, arguments[_SCANS[plain] :], values[_SCANS[plain] :])
        elif plain == "memset" and len(arguments) > 2:
            kind = "closed" if self._number(arguments[1]) == 0 else "open"
            self._note_text(node, values[:1], kind, self._number(arguments[2]) or 0)
        elif plain in ("strncpy", "memcpy", "memmove", "mempcpy") and len(arguments) > 2:
            size, length = self._number(arguments[2]) or 0, self._text_size(arguments[1])
            if (length and length > size) or (not length and plain == "strncpy"):
                self._note_text(node, values[:1], "open", size)
        elif plain in ("read", "recv") and len(arguments) > 2:
            self._note_text(node, values[1:2], "open", self._number(arguments[2]) or 0)

    def _note_given_texts(
        self, node: Node, function: str, position: int, values: list[list[Address]]
    ) -> None:
        """Note the texts that a function reads to which another one passes addresses, as qsort() does."""
        if position in _READS.get(function, ()):
            self._note_text(node, values, "read", 0)

    def _note_text(self, node: Node, values: list[list[Address]], kind: str, size: int) -> None:
        self.flows.texts += [
            Text(each, kind, size, *self._place(node))  # type: ignore[arg-type]
            for addresses in values
            for each in addresses
        ]

    def _note_printed(
        self, node: Node, plain: str, arguments: list[Node], values: list[list[Address]]
    ) -> None:
        """Note the texts among what is printed, and the least bytes of what sprintf() writes."""
        first = _PRINTS[plain]
        given = iter(range(first + 1, len(arguments)))
        written = 1
        text = self._literal_text(arguments[first]) if first < len(arguments) else None
        written += len(_CONVERSION.sub("", text or ""))
        for match in _CONVERSION.finditer(text or ""):
            if match["kind"] == "%":
                written += 1
                continue
            next(given, None) if match["width"] == "*" else None
            limit = self._limit_of(match, arguments, given)
            position = next(given, None)
            if match["kind"] != "s" or position is None:
                continue
            if limit is None:
                self._note_text(node, values[position : position + 1], "read", 0)
                written += max(0, self._text_size(arguments[position]) - 1)
            elif limit:
                place = self._place(node)
                self.flows.passes += [Pass(each, limit, True, *place) for each in values[position]]
        if plain == "sprintf" and text is not None:
            self.flows.passes += [Pass(each, written, True, *self._place(node)) for each in values[0]]

    def _limit_of(self, match: re.Match[str], arguments: list[Node], given: Iterator[int]) -> int | None:
        """Return the most bytes that a conversion prints; None without a limit, 0 if it is not known."""
        if match["precision"] is None:
            return None
        if match["precision"] != "*":
            return number(match["precision"].lstrip("0"))
        position = next(given, None)
        return 0 if position is None else self._number(arguments[position]) or 0

    def _note_scanned(self, node: Node, arguments: list[Node], values: list[list[Address]]) -> None:
        """Note the bytes that sscanf() writes for a text of limited width."""
        given = iter(values[1:])
        text = self._literal_text(arguments[0]) if arguments else None
        for match in _CONVERSION.finditer(text or ""):
            if match["kind"] == "%" or match["width"] == "*":
                continue
            addresses = next(given, [])
            if match["kind"] in "s[c" and match["width"]:
                size = number(match["width"]) + (match["kind"] != "c")
            else:
                size = self._scanned_size(match["length"], match["kind"])
            if size:
                self.flows.passes += [Pass(each, size, True, *self._place(node)) for each in addresses]

    def _scanned_size(self, length: str, kind: str) -> int:
        """Return the bytes of a number that sscanf() writes; 0 for a text without a width."""
        if kind in "diouxXn":
            return {"hh": 1, "h": 2, "": 4}.get(length, 8 if length in ("ll", "j", "q") else self._word)
        if kind in "aAeEfFgG":
            return {"": 4, "L": 16}.get(length, 8)
        return self._word if kind == "p" else 0

    def _literal_text(self, node: Node) -> str | None:
        """Return a text as the source has it, each escape as one character; None for other expressions."""
        node = skip_layers(node)
        if node.kind != TEXT:
            return None
        return _ESCAPE.sub(".", libclang.spelling(self._lib, node.cursor)[1:-1])
