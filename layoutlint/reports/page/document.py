"""Makes the page from its templates and its data. Objects of Jinja2 do not leave this module."""

from __future__ import annotations

import hashlib
import re
import zlib
from base64 import b64encode
from typing import Any

import jinja2
import msgspec.json

from layoutlint import __version__, escapes

_ESCAPE = re.compile(r"\\(?:(u[0-9a-f]{4})|.)")


def page(title: str, data: dict[str, Any]) -> str:
    """Return a page with a title; `data` are values for JSON, of which the script makes the content.

    The data are compressed, so that no name in them is a part of the page's text.
    """
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("layoutlint.reports.page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    style, script = (_source(templates, name) for name in ("page.css", "page.js"))
    packed = zlib.compress(_visible_text(data).encode("utf-8", "backslashreplace"), 6)
    return templates.get_template("page.html").render(
        title=escapes.inline(title),
        version=__version__,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=b64encode(packed).decode(),
    )


def _source(templates: jinja2.Environment, name: str) -> str:
    """Return the text of a file of the package as it is."""
    assert templates.loader is not None
    return templates.loader.get_source(templates, name)[0]


def _hash(text: str) -> str:
    """Return the source expression of a Content-Security-Policy that allows this text only."""
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _visible_text(data: dict[str, Any]) -> str:
    r"""Return JSON in which invisible characters of strings are shown, as `\u202e`."""
    try:
        text = msgspec.json.encode(data).decode()
    except UnicodeEncodeError:  # a name that is no UTF-8
        import json

        text = json.dumps(data, ensure_ascii=False, default=msgspec.to_builtins)
    return _ESCAPE.sub(lambda match: f"\\\\{match[1]}" if match[1] else match[0], escapes.json_text(text))
