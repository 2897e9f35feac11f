"""Imported before tasks are forked: loads what most of them need beside readers, once for all."""

from __future__ import annotations

import pyarrow
import pyarrow.parquet

import layoutlint.commands.survey.task
import layoutlint.readers.preload  # noqa: F401

pyarrow.array([""])  # looks for pandas, whose import takes longer than most tasks
