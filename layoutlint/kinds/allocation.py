"""Kind `allocation`: a struct does not grow past a boundary of its allocator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

from layoutlint.geometry import slab_pages
from layoutlint.geometry.allocators import LARGEST_CLASS, class_name, kmalloc_class
from layoutlint.geometry.slab_pages import LARGEST_ORDER, MOST_CPUS, Slab
from layoutlint.judgement.advice import byte_count
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.parameters import need_at_least, need_at_most
from layoutlint.judgement.rule import Example, Key, Manual, Traits
from layoutlint.judgement.verdict import Outcome, Verdict, format_place, judge_once
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import ANY, LINE, PAGE

_BREAKS = """\
struct request {
    long id;
    char name[184];
    int flags;
};
"""
_KEEPS = """\
struct request {
    long id;
    char name[176];
    int flags;
};
"""
_MOST_GROWTH = 1 << 16
"""Maximum number of bytes by which a struct grows in the search for the next boundary: two of the largest
slabs."""


class Allocation(Record, frozen=True):
    """An object stays within a class of kmalloc, or a number of pages and objects per slab."""

    name: ClassVar[str] = "allocation"
    traits: ClassVar[Traits] = Traits(size_only=True)
    summary: ClassVar[str] = "an object takes no more of its allocator than the rule allows"
    keys: ClassVar[tuple[Key, ...]] = (
        Key("max_class", "integer", "largest class of kmalloc that may hold it, in bytes"),
        Key("max_order", "integer", "most pages of a slab: two to the power of this"),
        Key("min_per_slab", "integer", "fewest objects in a slab"),
        Key("cpus", "integer", "CPUs of the machine, which determine the order; by default any number"),
        Key("order", "integer", "the order itself, if known (`/sys/kernel/slab/NAME/order`)"),
        Key("page", "integer", f"bytes in a page, by default {PAGE}"),
    )
    manual: ClassVar[Manual] = Manual(
        "One more field can cost nothing, move every object to the next class of kmalloc, or leave room for\n"
        "one object less in each slab. The message says how many bytes are left.\n"
        "\n"
        "- `max_class` is about [kmalloc](rules.md#where-memory-starts). With `array` in the rule\n"
        "  file, the whole array counts.\n"
        "- `max_order` and `min_per_slab` are about slab caches (`placement` `slab`, `line` or none) and\n"
        "  kmalloc's classes. SLUB uses more pages for more CPUs. Without `cpus` or `order`, the rule must\n"
        "  hold for every number of CPUs up to 8192. Debugging options and kernel parameters such as\n"
        "  `slab_max_order` are not considered.\n"
        "\n"
        "For a struct that ends with a flexible array the outcome is unknown.",
        "Make the struct smaller, as for `size`. If the growth is worth it, raise the limit and state the\n"
        "reason.",
        "max_class = 192",
        Example(
            _BREAKS,
            Outcome.BROKEN,
            "struct request has 200 bytes: kmalloc-256, 8 more than kmalloc-192 holds",
        ),
        Example(_KEEPS, Outcome.KEPT, "struct request has 192 bytes: kmalloc-192, 0 left"),
    )

    max_class: int | None = None
    max_order: int | None = None
    min_per_slab: int | None = None
    cpus: int | None = None
    order: int | None = None
    page: int = PAGE

    def __post_init__(self) -> None:
        if (self.max_class, self.max_order, self.min_per_slab) == (None,) * 3:
            raise ValueError("needs `max_class`, `max_order` or `min_per_slab`")
        if self.max_class is not None and kmalloc_class(self.max_class, 8) != self.max_class:
            near = kmalloc_class(self.max_class, 8)
            raise ValueError(f"`max_class` {self.max_class} is not a class of kmalloc; the next is {near}")
        need_at_least("max_order", self.max_order, 0)
        need_at_least("min_per_slab", self.min_per_slab, 1)
        need_at_least("cpus", self.cpus, 1)
        need_at_least("order", self.order, 0)
        need_at_most("order", self.order, LARGEST_ORDER)
        need_at_most("cpus", self.cpus, MOST_CPUS)
        if self.page < 1 << 10 or self.page & (self.page - 1) or self.page > 1 << 20:
            raise ValueError(f"`page` {self.page} is not a page size")
        if self.order is not None and self.cpus is not None:
            raise ValueError("`cpus` has no effect with `order`")
        if self.order is not None and self.max_order is not None:
            raise ValueError("`max_order` has no effect with `order`")

    def check(self, context: Context) -> Verdict:
        """Return broken for an object that is too large for its class, or for the required number
        in a slab.
        """
        end = context.layout.open_end
        if end is not None:
            raise CannotTell(f"the size of an object is unknown: it ends with {format_place(end)}")
        if not context.layout.size:
            raise CannotTell("an object without size is not allocated")
        struct = context.layout.struct
        results = list(self._judge_limits(context))
        message = f"{struct.aggregate} {struct.name} has {context.layout.size} bytes: "
        message += "; ".join(says for says, _ in results)
        advice = "; ".join(advice for _, advice in results if advice)
        return judge_once(not advice, message, (), advice)

    def _judge_limits(self, context: Context) -> Iterator[tuple[str, str]]:
        """Yield the results for class and slabs, each with advice if a limit is exceeded."""
        word = context.storage.word if context.storage is not None else None
        if self.max_class is not None:
            if word not in (None, "kmalloc"):
                raise CannotTell(f"`max_class` applies to kmalloc; the rule file states `{word}`")
            yield _judge_class(self.max_class, context)
        if self.max_order is not None or self.min_per_slab is not None:
            if word not in (None, "slab", LINE, "kmalloc"):
                raise CannotTell(f"slabs exist for slab caches and kmalloc; the rule file states `{word}`")
            if (
                word == "kmalloc"
                and (slab_pages.object_stride(context.storage, context.allocation_request) or 0)
                > LARGEST_CLASS
            ):
                large = f"what is larger than {LARGEST_CLASS} bytes"
                raise CannotTell(f"kmalloc gives {large} whole pages, not a place in a slab")
            yield self._judge_slabs(context)

    def _judge_slabs(self, context: Context) -> tuple[str, str]:
        slabs = self._slabs_of_size(context, 0)
        cpus = min(slabs, key=lambda cpus: slabs[cpus].objects)  # twice the pages hold twice as many, or more
        wrong = [cpus for cpus, slab in slabs.items() if not self._allows(slab)]
        slab = slabs[cpus := wrong[0] if wrong else cpus]
        message = (
            f"{_describe_slab(slab)}{f' with {_format_cpus(cpus)}' if len(set(slabs.values())) > 1 else ''}"
        )
        if wrong:
            shrink_by = self._find_size_change(context, -1, lambda new: all(map(self._allows, new.values())))
            advice = (
                f"take away at least {byte_count(shrink_by)}"
                if shrink_by
                else "raise the limit: no size keeps to it"
            )
            return f"{message}, {self._describe_limits()}", advice
        grow_by = self._find_size_change(
            context, 1, lambda new: new[cpus].objects < slab.objects or new[cpus].order > slab.order
        )
        return f"{message}; that changes once it grows by {grow_by}" if grow_by else message, ""

    def _find_size_change(
        self, context: Context, sign: int, is_match: Callable[[dict[int, Slab]], bool]
    ) -> int | None:
        """Return by how many bytes a struct must grow or shrink to get slabs as required; None for never."""
        size, unit = context.layout.size, context.layout.align.value
        most = min(_MOST_GROWTH, size - 1) if sign < 0 else _MOST_GROWTH
        return next(
            (by for by in range(unit, most + 1, unit) if is_match(self._slabs_of_size(context, sign * by))),
            None,
        )

    def _slabs_of_size(self, context: Context, more: int) -> dict[int, Slab]:
        """Return the slabs of a struct with `more` bytes, by the number of CPUs. Raises CannotTell."""
        request = context.allocation_request
        stride = slab_pages.object_stride(context.storage, replace(request, size=request.size + more))
        if stride is None:
            raise CannotTell("the distance between objects is unknown: they are in arrays of any length")
        if self.order is not None:
            return {0: slab_pages.slab_of_order(stride, self.order, self.page)}
        # Only the number of binary digits of the CPU count matters.
        cpu_counts = [self.cpus] if self.cpus else [1 << digits for digits in range(MOST_CPUS.bit_length())]
        return {cpus: slab_pages.compute_slab(stride, cpus, self.page) for cpus in cpu_counts}

    def _allows(self, slab: Slab) -> bool:
        if self.min_per_slab is not None and slab.objects < self.min_per_slab:
            return False
        return self.max_order is None or slab.order <= self.max_order

    def _describe_limits(self) -> str:
        limits = []
        if self.min_per_slab is not None:
            limits.append(f"at least {self.min_per_slab} in a slab")
        if self.max_order is not None:
            limits.append(f"at most order {self.max_order}")
        return f"{' and '.join(limits)} asked for"


def _judge_class(most: int, context: Context) -> tuple[str, str]:
    count = context.storage.array if context.storage is not None else None
    if count == ANY:
        raise CannotTell("the size of a block is unknown: it is an array of any length")
    count = count or 1
    size = context.layout.size * count
    class_ = kmalloc_class(size, context.allocation_request.smallest_class)
    text = f"{count} of them {size}, " if count > 1 else ""
    if class_ <= most:
        return f"{text}{class_name(class_)}, {class_ - size} left", ""
    over = size - most
    text += f"{class_name(class_)}, {over} more than {class_name(most)} holds"
    return text, f"take away at least {byte_count(-(-over // count))}"


def _describe_slab(slab: Slab) -> str:
    pages = 1 << slab.order
    return (
        f"{slab.stride} bytes apart, {slab.objects} in a slab of {pages} page{'s' if pages > 1 else ''} "
        f"(order {slab.order})"
    )


def _format_cpus(number: int) -> str:
    """Format a number of CPUs."""
    return "1 CPU" if number == 1 else f"{number} CPUs"
