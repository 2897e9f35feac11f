"""A folder of modules as a distribution ships it, against pahole on each of them, and against reading them alone."""

from __future__ import annotations

import json
import lzma
from collections import defaultdict
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.effort import draws
from tests.oracles import pahole
from tests.real import modules
from tests.real.kernels import Unavailable
from tests.real.test_pahole import SECONDS, Count, Shown, shape_of

pytestmark = pytest.mark.real

COMPARED = draws(6, 16)  # pahole lists the whole base with each of them, which takes it two seconds
RULES = "".join(
    f'[[rule]]\nid = "{name}-size"\nstruct = "{name}"\nkind = "size"\nmax = {size}\nseverity = "error"\nwhy = "a test"\n'
    for name, size in (("inode", 100), ("net_device", 100), ("page", 64), ("xfrm_algo_list", 4096), ("nft_hash", 1))
)


@pytest.fixture(scope="module")
def distribution() -> tuple[Path, Path]:
    """vmlinux and the folder of its modules, .ko.xz with split BTF."""
    try:
        return modules.fetch("next")
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def largest(distribution, tmp_path_factory) -> Path:
    """The largest of them, unpacked for pahole."""
    packed = sorted(distribution[1].rglob("*.ko.xz"), key=lambda path: (-path.stat().st_size, path))
    folder = tmp_path_factory.mktemp("some")
    for path in packed[:COMPARED]:
        (folder / path.stem).write_bytes(lzma.decompress(path.read_bytes()))
    return folder


def test_every_struct_as_pahole_has_it(distribution, largest):
    done = run("show", largest, "--all", "--expand", "--format", "json", "--btf-base", distribution[0], seconds=SECONDS)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    ours: dict[str, dict[str, list[Shown]]] = defaultdict(lambda: defaultdict(list))
    for struct in document["structs"]:
        for number in struct["files"]:
            ours[document["files"][number]][struct["name"]].append(shape_of(struct))
    base = set(pahole.list_output(distribution[0], "-F", "btf"))
    count, alone = Count(), set()
    for path in sorted(largest.glob("*.ko")):
        for shape in pahole.list_output(path, "-F", "btf", f"--btf_base={distribution[0]}"):
            if shape in base:
                continue
            if shape.name in ours[str(path)]:
                count.add(shape, ours[str(path)][shape.name])
            else:
                alone.add((path.name, shape.name))
    print(f"{count}; pahole alone lists {len(alone)}")
    assert count.different == {}
    assert alone == set()
    assert count.structs > 1_000


def test_the_folder_tells_what_its_modules_tell_alone(distribution, largest, tmp_path):
    (tmp_path / "rules.toml").write_text(RULES)
    how = ("--rules", tmp_path / "rules.toml", "--btf-base", distribution[0], "--no-packs", "--format", "json")
    together = [json.loads(run("check", largest, *how, "--jobs", jobs, seconds=SECONDS).stdout) for jobs in ("1", "2")]
    assert together[0] == together[1]
    files = [distribution[0], *sorted(largest.glob("*.ko"))]
    one_by_one = json.loads(run("check", *files, *how, "--reader", "btf", seconds=SECONDS).stdout)

    def describe(report: dict) -> list[tuple[str, str, str, set[str]]]:
        found = (*report["findings"], *report["kept"])
        return sorted((f["rule"], f["outcome"], f["message"], {f["input"], *f["also"]}) for f in found)

    assert describe(together[0]) == describe(one_by_one)
    asked = {"inode-size", "net_device-size", "nft_hash-size", "page-size", "xfrm_algo_list-size"}
    assert {finding[0] for finding in describe(one_by_one)} == asked | {"marks/net_device"}  # which it says itself


def test_a_whole_distribution(distribution, tmp_path):
    (tmp_path / "rules.toml").write_text(RULES)
    how = ("--rules", tmp_path / "rules.toml", "--btf-base", distribution[0], "--format", "json")
    report = json.loads(run("check", distribution[1], *how, seconds=SECONDS).stdout)
    assert report["unread"] == []
    assert [i["files"] for i in report["inputs"]] == [len(list(distribution[1].rglob("*.ko.xz"))) + 1]
    sizes = [finding for finding in report["findings"] if finding["rule"] == "inode-size"]
    assert [finding["outcome"] for finding in sizes] == ["broken"]


def test_containers_in_the_folder_are_those_of_vmlinux_and_of_each_module(distribution, largest):
    def list_structs(*inputs: Path, jobs: str = "1") -> dict[str, set[tuple[str, str, int, int]]]:
        options = ("--btf-base", distribution[0], "--reader", "btf", "--format", "json", "--jobs", jobs)
        done = run("containers", *inputs, "address_space", *options, seconds=SECONDS)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        found: dict[str, set[tuple[str, str, int, int]]] = defaultdict(set)
        for way in report["structs"][0]["containers"]:
            for number in way["files"] or (None,):
                file = "" if number is None else report["files"][number]
                found[file].add((way["name"], way["path"], way["offset"], way["size"]))
        return found

    together = list_structs(largest)
    assert together == list_structs(largest, jobs="2")
    vmlinux = list_structs(distribution[0])[""]
    assert together.pop(str(distribution[0])) == vmlinux
    assert sum(map(len, together.values())) > 3
    for file, found in together.items():
        assert list_structs(Path(file))[""] - vmlinux == found
