"""Which behaviours GCC's plugin has, by the version of Linux and by its source."""

from __future__ import annotations

import pytest

from layoutlint.errors import UsageError
from layoutlint.randstruct import gcc_plugin
from layoutlint.randstruct.gcc_order import Behaviour

FLAGS = ("stays_in_group", "keeps_flexible_only", "opens_structs", "opens_shuffled")

VERSIONS = [
    # version, for each of FLAGS whether it has it (1, 0) or may have it (?)
    ("4.14.330", "0?1?"),
    ("4.14.331", "1?1?"),
    ("4.19.76", "0?0?"),
    ("4.19.77", "0?1?"),
    ("5.3", "????"),
    ("5.4", "??1?"),
    ("5.4.262", "1?10"),
    ("5.4.299", "1?11"),
    ("5.10.201", "0?1?"),
    ("6.1", "1011"),
    ("6.1.63", "0010"),
    ("6.1.64", "1010"),
    ("6.1.142", "1011"),
    ("6.1.0-50-amd64", "??1?"),
    ("6.1.192-2", "1?11"),
    ("6.2.1", "??1?"),
    ("6.6.2", "001?"),
    ("6.6.3", "111?"),
    ("6.6.3-200.fc39.x86_64", "111?"),
    ("6.7-rc1", "??1?"),
    ("6.7", "111?"),
    ("6.12.33", "1110"),
    ("6.12.34", "1111"),
    ("6.16", "1111"),
    ("v7.2", "1111"),
]


def describe(plugin: gcc_plugin.Plugin) -> str:
    """For each of FLAGS what all behaviours agree on, else `?`."""
    found = [{getattr(one, flag) for one in plugin.behaviours} for flag in FLAGS]
    return "".join("?" if len(values) > 1 else "01"[values.pop()] for values in found)


@pytest.mark.parametrize(("version", "expected"), VERSIONS)
def test_versions(version, expected):
    """What releases never had together is not among what is possible: a `?` there may be known all the same."""
    found = describe(gcc_plugin.plugin_of_version(version))
    assert all(a == b or b == "?" for a, b in zip(found, expected, strict=True)), found


def test_a_series_is_its_last_release_and_has_earlier_ones():
    found = gcc_plugin.plugin_of_version("6.1")
    assert found.behaviours == (Behaviour(True, False, True, True),)
    assert found.earlier == (Behaviour(False, False, True, False),)
    assert gcc_plugin.plugin_of_version("6.12").earlier == (Behaviour(opens_shuffled=False),)
    assert gcc_plugin.plugin_of_version("6.16").earlier == gcc_plugin.plugin_of_version("6.1.64").earlier == ()


@pytest.mark.parametrize("version", ["4.12", "6", "6.", "next", "6.1x", ""])
def test_no_version(version):
    with pytest.raises(UsageError):
        gcc_plugin.plugin_of_version(version)


# What the source has in the functions that changed, reduced to the words that tell.
OLD = """
static void performance_shuffle(tree *t, unsigned long length)
{
	for (i = size_group[x].start + size_group[x].length - 1; i > size_group[x].start; i--)
		;
}

static bool is_flexible_array(const_tree field)
{
	if (TYPE_MAX_VALUE(x) == NULL_TREE)
		return true;
	return size == tree_to_uhwi(elemsize);
}

static int relayout_struct(tree type)
{
	list = make_node(FIELD_DECL);
	TREE_CHAIN(list) = newtree[0];
}

static int is_pure_ops_struct(const_tree node)
{
	if (!is_fptr(fieldtype))
		return 0;
	if (!is_pure_ops_struct(fieldtype))
		return 0;
}
"""
NEW = """
static void performance_shuffle(tree *t, unsigned long length)
{
	for (index = size_group[x].length - 1; index > 0; index--)
		;
}

static bool is_flexible_array(const_tree field)
{
	/* once elemsize */
	if (TYPE_MAX_VALUE(x) == NULL_TREE)
		return true;
}

static int relayout_struct(tree type)
{
	TREE_CHAIN(newtree[i]) = newtree[i+1];
}

static int is_pure_ops_struct(const_tree node)
{
	if (!is_pure_ops_struct(fieldtype))
		return 0;
	if (!is_fptr(fieldtype))
		return 0;
}
"""
SOURCES = [("old", OLD, "0000"), ("new", NEW, "1111"), ("rewritten", "int main(void)\n{\n}\n", "????")]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in SOURCES], ids=[case[0] for case in SOURCES])
def test_sources(text, expected, tmp_path):
    path = tmp_path / gcc_plugin.PLUGIN
    path.parent.mkdir(parents=True)
    path.write_text(text)
    found = gcc_plugin.plugin_of_source(str(tmp_path))
    assert found is not None
    assert describe(found) == expected


def test_every_behaviour_is_told():
    assert set(FLAGS) == set(Behaviour.__struct_fields__)


def test_no_source(tmp_path):
    assert gcc_plugin.plugin_of_source(str(tmp_path)) is None
