"""What a piece of C text does with macros, in one pass over its bytes."""

from __future__ import annotations

_NEWLINE, _CARRIAGE, _HASH, _STAR, _SLASH, _BACKSLASH = b"\n\r#*/\\"
_QUOTE, _APOSTROPHE, _SPACE, _NINE = b"\"' 9"
_CLASSES = bytes(bytes((each,)).isalnum() or each == ord("_") or each >= 0x80 for each in range(256))
"""Which bytes are in words."""
_IN_DIRECTIVE, _IN_CODE = True, False
_TAG_WORDS = frozenset((b"struct", b"union", b"enum"))
_LONGEST_TAG_WORD = 6


class MacroUses:
    """What a text does with macros, in pieces: it is cut where it includes something."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._bytes = text
        self._is_word = _CLASSES
        self._is_behind_tag_word = False
        self.bodies: dict[bytes, set[bytes]] = {}
        """The definitions of macros, without spaces at their ends."""
        self.includes: list[tuple[int, bytes]] = []
        """The offsets of the lines of `#include`, and what they include; nothing for `#include_next`."""
        self.pieces: list[tuple[set[bytes], set[bytes], set[bytes], set[bytes], set[bytes]]] = []
        """The identifiers in code and conditions, tags also behind `struct `; the macros of which is asked
        whether they are defined; those that are defined or undefined; those of them before which no
        identifier is, and those that are not defined behind it."""
        self._begin()
        self._read(0, len(text))

    def _begin(self) -> None:
        """Begin another piece."""
        self._named: set[bytes] = set()
        self._asked: set[bytes] = set()
        self._defined: set[bytes] = set()
        self._settled: set[bytes] = set()
        self._undefined: set[bytes] = set()
        self.pieces.append((self._named, self._asked, self._defined, self._settled, self._undefined))

    def _read(self, at: int, end: int) -> None:
        is_start = True
        while at < end:
            byte = self._bytes[at]
            if byte <= _SPACE:
                is_start = is_start or byte == _NEWLINE
                at += 1
            elif byte == _HASH and is_start:
                at = self._read_directive(at + 1, end)
            else:
                following = self._after_token(at, end, _IN_CODE)
                is_start = is_start and byte == _SLASH and following > at + 1  # a comment
                at = following

    def _after_token(self, at: int, end: int, is_directive: bool) -> int:
        """Return where a token or comment ends; note a name, and what `defined` asks for in a directive."""
        byte = self._bytes[at]
        if self._is_word[byte]:
            stop = self._word_end(at, end)
            if byte > _NINE:
                name = self._text[at:stop]
                if is_directive and name == b"defined":
                    return self._after_asked(stop, end)
                self._named.add(name)
                if self._is_behind_tag_word:
                    self._named.add(b"struct " + name)
                self._is_behind_tag_word = stop - at <= _LONGEST_TAG_WORD and name in _TAG_WORDS
            return stop
        if byte == _QUOTE or byte == _APOSTROPHE:  # noqa: SIM109 - without a tuple, when compiled
            return self._literal_end(at, end)
        if byte == _SLASH and at + 1 < end:
            if self._bytes[at + 1] == _STAR:
                return self._comment_end(at + 2, end)
            if self._bytes[at + 1] == _SLASH:
                return self._line_end(at, end)
        return self._after_backslash(at, end) if byte == _BACKSLASH else at + 1

    def _word_end(self, at: int, end: int) -> int:
        while at < end and self._is_word[self._bytes[at]]:
            at += 1
        return at

    def _literal_end(self, at: int, end: int) -> int:
        """Return where a text in quotes ends, or its line."""
        quote = self._bytes[at]
        at += 1
        while at < end and self._bytes[at] != quote and self._bytes[at] != _NEWLINE:
            at += 2 if self._bytes[at] == _BACKSLASH else 1
        return min(at + 1, end)

    def _comment_end(self, at: int, end: int) -> int:
        stop = self._text.find(b"*/", at, end)
        return end if stop < 0 else stop + 2

    def _after_backslash(self, at: int, end: int) -> int:
        """Return what follows a backslash and the character, or end of a line, that it takes away."""
        is_pair = at + 2 < end and self._bytes[at + 1] == _CARRIAGE and self._bytes[at + 2] == _NEWLINE
        return min(at + (3 if is_pair else 2), end)

    def _line_end(self, at: int, end: int) -> int:
        """Return where a line ends, which goes on behind a backslash and in a comment."""
        has_code = True
        while at < end and self._bytes[at] != _NEWLINE:
            byte = self._bytes[at]
            if byte == _BACKSLASH:
                at = self._after_backslash(at, end)
            elif not has_code or (byte != _SLASH and byte != _QUOTE and byte != _APOSTROPHE):
                at += 1
            elif byte == _SLASH and at + 1 < end and self._bytes[at + 1] == _SLASH:
                has_code = False
            else:
                at = self._after_token(at, end, _IN_CODE)
        return at

    def _next_word(self, at: int, end: int) -> int:
        """Return where the next word of a line begins, behind spaces, comments and brackets."""
        while at < end and not self._is_word[self._bytes[at]] and self._bytes[at] != _NEWLINE:
            at = self._after_token(at, end, _IN_CODE)
        return at

    def _after_asked(self, at: int, end: int) -> int:
        at = self._next_word(at, end)
        stop = self._word_end(at, end)
        self._asked.add(self._text[at:stop])
        return stop

    def _read_directive(self, at: int, end: int) -> int:
        """Read a directive from behind its `#`; return the end of its line."""
        start = at - 1
        at = self._next_word(at, end)
        stop = self._word_end(at, end)
        kind = self._text[at:stop]
        if kind == b"define" or kind == b"undef":
            return self._define(self._next_word(stop, end), end, kind == b"define")
        if kind in (b"ifdef", b"ifndef", b"elifdef", b"elifndef"):
            return self._line_end(self._after_asked(stop, end), end)
        if kind == b"include" or kind == b"include_next":
            last = self._text.find(b"\n", stop, end)
            last = end if last < 0 else last
            self.includes.append((start, self._text[stop:last].strip() if kind == b"include" else b""))
            self._begin()
            return last
        if kind != b"if" and kind != b"elif":
            return self._line_end(at, end)
        at, last = stop, self._line_end(stop, end)
        while at < last:
            at = at + 1 if self._bytes[at] <= _SPACE else self._after_token(at, end, _IN_DIRECTIVE)
        return max(at, last)

    def _define(self, at: int, end: int, has_body: bool) -> int:
        """Note a macro by its name; return the end of the line, or of a comment that goes on."""
        stop = self._word_end(at, end)
        name = self._text[at:stop]
        if not self._named and name not in self._asked:  # nothing before can be a macro that leads to it
            self._settled.add(name)
        self._defined.add(name)
        last = self._line_end(stop, end)
        if not has_body:
            self._undefined.add(name)
        else:
            self._undefined.discard(name)
            self.bodies.setdefault(name, set()).add(self._text[stop:last].strip())
        return last
