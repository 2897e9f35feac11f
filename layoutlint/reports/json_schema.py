"""The JSON Schema of an output or a file, made from the types of its objects."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any, get_args

import msgspec

from layoutlint.model.record import Record

_EXACT = "This schema describes the output of this version exactly; later versions can add keys."


def output_schema(form: type[Record], title: str) -> dict[str, Any]:
    """Return the schema of an output, whose name and version is the tag of its type."""
    tag = str(form.__struct_config__.tag)
    schema = document_schema(form, tag, title)
    summary, *rest = _docstring(form).split("\n\n")
    schema["description"] = _one_line(" ".join((summary, _EXACT, *rest)))
    schema["properties"]["schema"]["description"] = "The name and version of this format."
    for part in (schema, *schema["$defs"].values()):
        part["required"] = list(part["properties"])  # with their usual values, too
        for each in part["properties"].values():
            each.pop("default", None)
    return schema


def document_schema(form: type[Record], name: str, title: str, *undecoded: type[Record]) -> dict[str, Any]:
    """Return the schema of a document; `name` is `layoutlint/report/1`. Docstrings are the descriptions.

    `undecoded` are the types of objects that a document refers to and does not decode.
    """
    _, parts = msgspec.json.schema_components([form, *undecoded])
    seen: set[Any] = set()
    for kind in chain.from_iterable(_parts(each, seen) for each in (form, *undecoded)):
        part = parts[kind.__name__]
        own = {key: value for key, value in part.items() if key not in ("title", "description")}
        parts[kind.__name__] = {"description": _one_line(_docstring(kind)), **own}
        for key, text in _key_texts(kind):
            own["properties"][key]["description"] = text
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{name.replace('/', ':')}",
        "title": title,
        **parts.pop(form.__name__),
        "$defs": parts,
    }
    text = json.dumps(document).replace(f'"#/$defs/{form.__name__}"', '"#"')
    return dict(json.loads(text))


def _parts(kind: Any, seen: set[Any]) -> Iterator[type[Record]]:
    """Yield the types of objects in a type."""
    if kind in seen:
        return
    seen.add(kind)
    if isinstance(kind, type) and issubclass(kind, Record):
        yield kind
        inner = tuple(field.type for field in msgspec.structs.fields(kind))
    else:
        inner = get_args(kind)
    for each in inner:
        yield from _parts(each, seen)


def _key_texts(kind: type[Record]) -> Iterator[tuple[str, str]]:
    """Yield the keys of a type with their docstrings, which only its source has."""
    own = _class_in_source(kind)
    keys = {field.name: field.encode_name for field in msgspec.structs.fields(kind)}
    for pair in pairwise(own.body):
        match pair:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield keys[name], _one_line(text)


def _docstring(kind: type[Record]) -> str:
    """Return the docstring of a type from its source: `python -OO` keeps none."""
    return ast.get_docstring(_class_in_source(kind)) or ""


def _class_in_source(kind: type[Record]) -> ast.ClassDef:
    tree = ast.parse(inspect.getsource(sys.modules[kind.__module__]))
    (own,) = (each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == kind.__name__)
    return own


def _one_line(text: str) -> str:
    return " ".join(text.split())
