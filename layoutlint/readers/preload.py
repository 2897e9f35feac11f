"""Imported before tasks are forked: loads what most inputs need, once for all."""

from __future__ import annotations

import layoutlint.readers.btf
import layoutlint.readers.clang
import layoutlint.readers.dwarf.collect
import layoutlint.readers.dwarf.holders
import layoutlint.readers.dwarf.producers
import layoutlint.readers.dwarf.selection
import layoutlint.readers.elf.debug_files
import layoutlint.readers.inputs
import layoutlint.readers.linux.config
import layoutlint.readers.linux.version
import layoutlint.readers.modules.merge
import layoutlint.readers.variables  # noqa: F401
