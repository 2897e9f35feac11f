"""The accesses that annotations in C sources declare, for functions that are read without judging rules."""

from __future__ import annotations

import os

from layoutlint.intent.annotations import suppression
from layoutlint.intent.annotations.comments import Sources, with_comments
from layoutlint.judgement.rule import Pack
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.structs import Struct


def with_annotations(
    structs: tuple[Struct, ...], sources: tuple[str, ...], packs: tuple[Pack, ...], options: ReadOptions
) -> tuple[Pack, ...]:
    """Return packs with the accesses that comments and macros at structs of C sources declare.

    `sources` are the inputs, beside which files are looked for. Raises RuleFileError for mistakes, and for
    annotations that contradict a pack.
    """
    if not structs:
        return packs
    folders = (".", *sources, *(os.path.dirname(path) or "." for path in sources))
    reading = Reading(sources[0], "clang", structs[0].target, structs)
    texts = Sources(tuple(dict.fromkeys(folders)), options.texts, options.replaced)
    return suppression.merge_annotations(with_comments(reading, texts, False), packs)[0]
