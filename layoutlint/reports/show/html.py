"""Format `html` of `show`: a page with maps of structs."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.model.structs import Struct
from layoutlint.phrases import quantity
from layoutlint.reports.page.document import page
from layoutlint.reports.page.structs import struct_data
from layoutlint.reports.show.options import ShowOptions


def render(structs: tuple[Struct, ...], options: ShowOptions) -> Iterator[str]:
    """Yield one page with all structs."""
    data = struct_data(structs, options, [options.accesses.get(struct.name, ()) for struct in structs])
    result = quantity(len(structs), "struct")
    yield page(_title(structs), data | {"result": result, "report": None, "judged": []})


def _title(structs: tuple[Struct, ...]) -> str:
    if len(structs) == 1:
        return f"{structs[0].aggregate} {structs[0].name}"
    return "Layouts of structs"
