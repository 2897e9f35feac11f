"""The items of a struct's body: declarations with their comments, groups that move as one, and fixed lines.

Each item has whole lines, and nothing but blank lines is between one and the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Field, Struct
from layoutlint.phrases import first_few
from layoutlint.readers.clang.members.pieces import (
    BRANCH_ENDS,
    CONDITIONS,
    PAIRED,
    BodyText,
    CannotMove,
    Piece,
    TextLines,
    Token,
    scan,
)

_TAB = 8
_BACKWARD = re.compile(r"/\*[*!]<|//[/!]<")
"""Doxygen's comments on the member before them."""
_SECTION = re.compile(r"(?:/\*+!?|//+!?)\s*(?:private|public)\s*:|[@\\][{}]", re.IGNORECASE)
"""Comments that begin a part of the members: kernel-doc's `private:` and `public:`, doxygen's groups."""
_ASSERTIONS = frozenset(("_Static_assert", "static_assert"))
_ALIGNING = re.compile(r"_{2,4}cacheline(?:_internode)?_?aligned\w*")
_PADDING = frozenset(("CACHELINE_PADDING", "ZONE_PADDING"))
"""Macros of Linux that fill a cache line (cache.h, until 6.3 mmzone.h)."""
_DEEPEST = 64
"""The most groups of markers around each other."""
_LONGEST = 40
"""The most characters of the source in a message."""


class Item(Record, frozen=True):
    """A part of a body; `start` and `end` are the offsets of its lines."""

    kind: Literal["member", "fixed", "group"]
    """A `fixed` item stays, and nothing moves past it. The items of a `group` move within it only."""
    start: int
    end: int
    line: int
    """The line of its code, or of its directive."""
    shown: str
    """Its code in messages, shortened."""
    fields: tuple[int, ...] = ()
    """The fields that it declares itself, by their number in the struct."""
    items: tuple[Item, ...] = ()
    tokens: tuple[Token, ...] = ()
    reason: str = ""
    """Why its fields stay together, if there are several; for a `fixed` item, why nothing moves past it."""
    comment: int | None = None
    """The line of the comment above it."""
    is_commented: bool = False
    """Whether it has a comment."""
    is_parted: bool = False
    """Whether a blank line follows the comment above it."""
    notes: tuple[str, ...] = ()

    @property
    def all_fields(self) -> tuple[int, ...]:
        """The fields that it declares, also in its items."""
        return self.fields + tuple(number for item in self.items for number in item.all_fields)


class Cluster(Record, frozen=True):
    """The pieces that share lines."""

    pieces: tuple[Piece, ...]
    start: int
    end: int
    """Offsets of whole lines, within the braces."""
    first_line: int
    last_line: int
    is_at_brace: bool
    """Whether it shares a line with a brace of the struct."""
    fields: tuple[int, ...] = ()

    @property
    def lines(self) -> range:
        """The numbers of its lines."""
        return range(self.first_line, self.last_line + 1)

    @property
    def code(self) -> tuple[Piece, ...]:
        """Its declarations."""
        return tuple(piece for piece in self.pieces if piece.kind == "code")

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The code of its pieces."""
        return tuple(token for piece in self.pieces for token in piece.tokens)

    @property
    def directive(self) -> Piece | None:
        """Its directive, if it has one."""
        return next((piece for piece in self.pieces if piece.kind == "directive"), None)


def clusters(lines: TextLines, body: BodyText) -> Iterator[Cluster]:
    """Yield the pieces of a body by the lines that they share."""
    first, last = lines.number(body.start), lines.number(body.end)
    pieces: list[Piece] = []
    for piece in (*body.pieces, None):
        if pieces and (piece is None or lines.number(piece.start) > lines.number(pieces[-1].end)):
            top, bottom = lines.number(pieces[0].start), lines.number(pieces[-1].end)
            start = body.start if top == first else lines.start(top)
            end = body.end if bottom == last else lines.start(bottom + 1)
            yield Cluster(tuple(pieces), start, end, top, bottom, first == top or last == bottom)
            pieces = []
        if piece is not None:
            pieces.append(piece)


def items_of(lines: TextLines, body: BodyText, struct: Struct) -> tuple[Item, ...]:
    """Return the items of a body, which has the fields of a struct; raises CannotMove if it has not."""
    return tuple(_ItemBuilder(lines, body, struct, located_clusters(lines, body, struct)).build())


def located_clusters(lines: TextLines, body: BodyText, struct: Struct) -> list[Cluster]:
    """Return the pieces by the lines that they share, with the fields that each line declares.

    Raises CannotMove if the text has other fields than the struct.
    """
    return _locate_fields(list(clusters(lines, body)), struct, range(len(struct.fields)))


def _locate_fields(clusters: list[Cluster], struct: Struct, numbers: Sequence[int]) -> list[Cluster]:
    """Return the clusters with the fields that each declares, by the lines of the fields."""
    fields: list[list[int]] = [[] for _ in clusters]
    by_line = {line: at for at, each in enumerate(clusters) for line in each.lines}
    lines_of = {each.name: each.source.line for each in struct.fields if each.source is not None}
    words = [{token.text for token in each.tokens} for each in clusters]
    last = 0
    for number in numbers:
        member = struct.fields[number]
        at = _cluster_of(member, struct, clusters, by_line, last)
        if at is None or at < last or not _may_declare(words[at], member.name, clusters[at].lines, lines_of):
            line = None if member.source is None else member.source.line
            reason = f"the text of the struct does not declare {_shown_name(member)} there"
            raise CannotMove(reason, line)
        fields[at].append(number)
        last = at
    return [replace(each, fields=tuple(numbers)) for each, numbers in zip(clusters, fields, strict=True)]


def _cluster_of(
    member: Field, struct: Struct, clusters: list[Cluster], by_line: dict[int, int], last: int
) -> int | None:
    """Return the cluster at the line of a field, or what includes its file; None if there is none."""
    if member.source is None or struct.source is None:
        return None
    if member.source.file != struct.source.file:
        return next((at for at in range(last, len(clusters)) if _includes(clusters[at])), None)
    at = by_line.get(member.source.line or 0)
    return at if at is not None and (clusters[at].code or _includes(clusters[at])) else None


def _includes(cluster: Cluster) -> bool:
    return cluster.directive is not None and cluster.directive.word == "include"


def _may_declare(
    words: set[str], name: str | None, lines: range, lines_of: dict[str | None, int | None]
) -> bool:
    """Return whether code with some words can declare a field: it has its name, or a macro can make that.

    Code with the names of fields of other lines belongs to those: the text is not what was read.
    """
    if name is None or name in words or "(" in words:
        return True
    return all(lines_of[word] in lines for word in words & lines_of.keys())


def _shown_name(member: Field) -> str:
    return "a nameless member" if member.name is None else f"`{member.name}`"


class _ItemBuilder(Record):
    """Makes items of clusters; `at` is the next one."""

    lines: TextLines
    body: BodyText
    struct: Struct
    clusters: list[Cluster]
    at: int = 0
    depth: int = 0
    pending: list[Cluster] = field(default_factory=list)
    """Comments that belong to what follows."""

    def build(self) -> list[Item]:
        """Return all items, with the rest of the lines of both braces as the first and the last."""
        start, end = self.body.start, self.body.end
        items = self._sequence()
        if self.pending:
            last = self.pending[-1]
            items.append(Item("fixed", self.pending[0].start, last.end, last.first_line, self._excerpt(last)))
        head = self.lines.start(self.lines.number(start) + 1)
        if head <= end and not (items and items[0].start < head):
            items.insert(0, Item("fixed", start, head, self.lines.number(start), "{"))
        tail = self.lines.start(self.lines.number(end))
        if tail > start and tail < end and not (items and items[-1].end > tail):
            items.append(Item("fixed", tail, end, self.lines.number(end), "}"))
        return items

    def _sequence(self) -> list[Item]:
        """Return the items up to the end of the branch; the rest of a branch is in `pending`."""
        items: list[Item] = []
        while self.at < len(self.clusters):
            cluster = self.clusters[self.at]
            if cluster.directive is not None:
                if cluster.code:
                    raise CannotMove("a declaration shares lines with a directive", cluster.first_line)
                if cluster.directive.word in CONDITIONS:
                    items.append(self._condition(cluster))
                    continue
                if cluster.directive.word in BRANCH_ENDS:
                    break
                items.append(self._fixed_item(cluster, self._excerpt(cluster)))
            elif cluster.code:
                items.append(self._member(cluster))
            else:
                self._comment(cluster, items)
            self.at += 1
        return self._settle(items)

    def _condition(self, cluster: Cluster) -> Item:
        """Return an `#if` with everything up to its `#endif`."""
        self.depth += 1
        shown, start = self._excerpt(cluster), self.pending[0].start if self.pending else cluster.start
        items = [self._fixed_item(cluster, shown)]
        while True:
            self.at += 1
            items += self._sequence()
            end = self.clusters[self.at]
            items.append(self._fixed_item(end, shown))
            if end.directive is not None and end.directive.word == "endif":
                break
        self.at += 1
        self.depth -= 1
        return Item("group", start, items[-1].end, cluster.first_line, shown, (), tuple(items))

    def _fixed_item(self, cluster: Cluster, shown: str, reason: str = "") -> Item:
        start = self.pending[0].start if self.pending else cluster.start
        self.pending.clear()
        if not reason and cluster.fields:
            reason = f"nothing moves past `{shown}`, which makes members"
        return Item("fixed", start, cluster.end, cluster.first_line, shown, cluster.fields, reason=reason)

    def _comment(self, cluster: Cluster, items: list[Item]) -> None:
        """Add a comment to the member before it, or else to what follows."""
        text = self.lines.text[cluster.pieces[0].start : cluster.pieces[-1].end]
        if cluster.is_at_brace or _SECTION.search(text):
            items.append(self._fixed_item(cluster, self._excerpt(cluster)))
        elif items and not self.pending and self._continues(items[-1], cluster, text):
            items[-1] = replace(items[-1], end=cluster.end, is_commented=True)
        else:
            self.pending.append(cluster)

    def _continues(self, before: Item, comment: Cluster, text: str) -> bool:
        """Return whether a comment belongs to the member above it: it is further to the right than that."""
        if before.kind != "member" or before.end != comment.start:
            return False
        if _BACKWARD.match(text):
            return True
        column = self._column(comment.pieces[0].start)
        following = self.clusters[self.at + 1] if self.at + 1 < len(self.clusters) else None
        is_next = following is not None and following.code and following.start == comment.end
        if following is not None and is_next and self._column(following.code[0].start) >= column:
            return False
        return column > self._column(before.tokens[0].start)

    def _column(self, offset: int) -> int:
        line = self.lines.text[self.lines.start(self.lines.number(offset)) : offset]
        return len(line.expandtabs(_TAB))

    def _excerpt(self, cluster: Cluster) -> str:
        piece = cluster.directive or (cluster.code or cluster.pieces)[0]
        text = " ".join(self.lines.text[piece.start : piece.end].split())
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."

    def _member(self, cluster: Cluster) -> Item:
        code, tokens, shown = cluster.code, cluster.tokens, self._excerpt(cluster)
        directive = next((piece.word for piece in code if piece.word), "")
        if cluster.is_at_brace:
            return self._fixed_item(cluster, shown, f"`{shown}` is on the line of a brace of the struct")
        if directive or any(token.text in ("_Pragma", "__pragma") for token in tokens):
            what = f"#{directive}" if directive else "_Pragma"
            return self._fixed_item(cluster, shown, f"`{what}` is in `{shown}`")
        if (inner := self._body_of_nameless(cluster)) is not None:
            return self._group_of_nameless(cluster, inner, shown)
        comment = self.pending[0].first_line if self.pending else None
        is_parted = bool(self.pending) and self.pending[-1].end != cluster.start
        start = self.pending[0].start if self.pending else cluster.start
        is_commented = bool(self.pending) or len(code) < len(cluster.pieces)
        self.pending.clear()
        line = self.lines.number(code[0].start)
        reason = self._reason(cluster, shown) if len(cluster.fields) > 1 else ""
        return Item(
            "member", start, cluster.end, line, shown, cluster.fields, (), tokens, reason, comment,
            is_commented, is_parted, tuple(_marks(tokens)),
        )  # fmt: skip

    def _body_of_nameless(self, cluster: Cluster) -> BodyText | None:
        """Return the body of a struct without a name whose members are fields; None for other code."""
        if len(cluster.fields) < 2 or len(cluster.code) > 1 or cluster.tokens[0].text != "struct":
            return None
        names = {self.struct.fields[number].name for number in cluster.fields}
        depth, brace = 0, None
        for token in cluster.tokens:
            depth -= token.text == "}"
            if not depth and token.text in names:
                return None
            brace = token.end if brace is None and token.text == "{" else brace
            depth += token.text == "{"
        return None if brace is None else scan(self.lines, brace)

    def _group_of_nameless(self, cluster: Cluster, body: BodyText, shown: str) -> Item:
        """Return a struct without a name as a group of its members, whose braces stay."""
        start = self.pending[0].start if self.pending else cluster.start
        self.pending.clear()
        own = _locate_fields(list(clusters(self.lines, body)), self.struct, cluster.fields)
        items = _ItemBuilder(self.lines, body, self.struct, own).build()
        return Item("group", start, cluster.end, cluster.first_line, shown, (), tuple(items))

    def _reason(self, cluster: Cluster, shown: str) -> str:
        """Return why the fields of a cluster stay together."""
        members = [self.struct.fields[number] for number in cluster.fields]
        names = f"{first_few([_shown_name(member) for member in members])}"
        if len(cluster.code) > 1:
            return f"{names} share lines"
        words = {token.text for token in cluster.tokens}
        is_macro = any(member.name is not None and member.name not in words for member in members)
        return f"`{shown}` makes {names}" if is_macro else f"one declaration declares {names}"

    def _settle(self, items: list[Item]) -> list[Item]:
        """Return the items of a branch with groups of markers, unnamed bit-fields and notes."""
        if self.depth and not any(item.all_fields for item in items):
            return items  # this configuration leaves the branch out
        items = self._group(self._join(items))
        return [_note_heading(item, *items[at + 1 : at + 2]) for at, item in enumerate(items)]

    def _join(self, items: Sequence[Item]) -> list[Item]:
        """Return items with each unnamed bit-field joined to the member before it, or else after it."""
        joined: list[Item] = []
        joins_next = False
        for item in items:
            is_padding = item.kind == "member" and not item.fields and _is_unnamed_bit_field(item.tokens)
            can_join = bool(joined) and joined[-1].kind == item.kind == "member"
            is_after_padding = joins_next and (self._is_bit_field(item) or not joined[-1].fields)
            if can_join and (is_padding or is_after_padding):
                joined[-1] = _join_items(joined[-1], item)
            else:
                joined.append(item)
            joins_next = is_padding
        return [_fix_unknown(item) for item in joined]

    def _is_bit_field(self, item: Item) -> bool:
        return any(self.struct.fields[number].is_bitfield for number in item.fields)

    def _group(self, items: Sequence[Item]) -> list[Item]:
        """Return items with those between a marker and the one that closes it as one group."""
        grouped: list[Item] = []
        openings: list[int] = []
        for item in items:
            marker = item.tokens[0].text if item.tokens else ""
            grouped.append(item)
            if marker in PAIRED:
                openings.append(len(grouped) - 1)
            elif marker in PAIRED.values():
                grouped[-1] = _with_kind_fixed(item)
                if openings and _closes(grouped[openings[-1]], item):
                    at = openings.pop()
                    inside = (_with_kind_fixed(grouped[at]), *grouped[at + 1 :])
                    first = inside[0]
                    grouped[at:] = [
                        Item("group", first.start, item.end, first.line, first.shown, (), tuple(inside))
                    ]
            if len(openings) > _DEEPEST:
                raise CannotMove(f"groups are nested more than {_DEEPEST} deep", item.line)
        for at in openings:
            grouped[at] = _with_kind_fixed(grouped[at])
        return grouped


def _marks(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield what the attributes and macros of a member do to cache lines."""
    for token in tokens:
        if _ALIGNING.fullmatch(token.text):
            yield f"`{token.text}` starts a cache line there"
        elif token.text in _PADDING:
            yield f"`{token.text}` fills the line before it: it parts the members around it"


def _is_unnamed_bit_field(tokens: Sequence[Token]) -> bool:
    """Return whether code that declares no field is a bit-field without a name."""
    depth = 0
    for token in tokens:
        depth += (token.text in "([{") - (token.text in ")]}")
        if token.text == ":" and not depth:
            return True
    return False


def _join_items(item: Item, following: Item) -> Item:
    """Return two members as one."""
    fields = item.fields + following.fields
    reason = f"an unnamed bit-field belongs to `{item.shown}`" if len(fields) > 1 else ""
    return replace(
        item, end=following.end, fields=fields, tokens=item.tokens + following.tokens,
        reason=item.reason or reason, notes=item.notes + following.notes,
    )  # fmt: skip


def _fix_unknown(item: Item) -> Item:
    """Return an item, fixed if it declares no field: what it does in other configurations is unknown."""
    words = {token.text for token in item.tokens}
    if item.kind != "member" or item.fields or words & _ASSERTIONS or words & {*PAIRED, *PAIRED.values()}:
        return item
    return replace(item, kind="fixed", reason=f"`{item.shown}` declares no member in this configuration")


def _with_kind_fixed(item: Item) -> Item:
    return replace(item, kind="fixed")


def _closes(opening: Item, closing: Item) -> bool:
    """Return whether a marker closes the group that another one opens: they have the same arguments."""
    words, last_words = ([token.text for token in item.tokens] for item in (opening, closing))
    return PAIRED[words[0]] == last_words[0] and words[1:3] == last_words[1:3]


def _note_heading(item: Item, following: Item | None = None) -> Item:
    """Return a member with a note if the comment above it may be about more members."""
    if item.kind != "member" or item.comment is None:
        return item
    is_heading = following is not None and following.kind == "member" and not following.is_commented
    if not item.is_parted and not (is_heading and following is not None and following.start == item.end):
        return item
    about = f"may be about members after `{item.shown}` too"
    note = f"the comment at line {item.comment} {about}; it moves with this one only"
    return replace(item, notes=(*item.notes, note))
