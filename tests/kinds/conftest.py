"""Lets the assertions of the tables' shape show what differs."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.kinds.cases")
