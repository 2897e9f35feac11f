"""Imported before tasks are forked: loads what most of them need, once for all."""

from __future__ import annotations

import pyarrow
import pyarrow.parquet

import layoutlint.lint.line_attributes
import layoutlint.lint.survey.task
import layoutlint.readers.dwarf.collect
import layoutlint.readers.dwarf.holders
import layoutlint.readers.dwarf.producers
import layoutlint.readers.dwarf.selection
import layoutlint.readers.elf.debug_files
import layoutlint.readers.linux.config
import layoutlint.readers.linux.version
import layoutlint.readers.variables  # noqa: F401

pyarrow.array([""])  # looks for pandas, whose import takes longer than most tasks
