"""BTF as clang and pahole write it into ELF files, for both byte orders, and split BTF as pahole writes it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import btf
from layoutlint.readers.btf.blob import Blob
from layoutlint.readers.dispatch import read
from tests.oracles.c_probe import need
from tests.readers.btf.btf_blob import BASE, LONG, SPLIT, STRUCT, blob, record

SOURCE = """
enum colour { RED, GREEN };
typedef unsigned long long u64;
typedef struct { u64 word; } boxed_t;
union either { int i; float f; };
struct ops { int (*open)(const char *, ...); void (*close)(void); int (*old)(); };
struct list { struct list *next; };
struct everything {
	unsigned char flags : 3, : 2, more : 3;
	enum colour colour : 4;
	_Bool on;
	const volatile long count;
	char name[2][16];
	union either either;
	struct { short a, b; };
	boxed_t boxed;
	const struct ops *ops;
	struct list list;
	void *restrict where;
	double ratio;
	int (*calls[2])(const char *, ...);
	int (*old)();
	int tail[];
} everything;
"""
FIELDS = [
    # declaration, bit offset, bits, whether a bit-field: what gcc, clang for x86-64 and both BPF targets agree upon
    ("unsigned char flags", 0, 3, True),
    ("unsigned char more", 5, 3, True),
    ("enum colour colour", 8, 4, True),
    ("_Bool on", 16, 8, False),
    ("const volatile long int count", 64, 64, False),
    ("char name[2][16]", 128, 256, False),
    ("union either either", 384, 32, False),
    ("struct {...}", 416, 32, False),
    ("boxed_t boxed", 448, 64, False),
    ("const struct ops *ops", 512, 64, False),
    ("struct list list", 576, 64, False),
    ("void * restrict where", 640, 64, False),
    ("double ratio", 704, 64, False),
    ("int (*calls[2])(const char *, ...)", 768, 128, False),
    ("int (*old)()", 896, 64, False),
    ("int tail[]", 960, 0, False),
]
EVERYTHING = Wanted(names=frozenset({"everything"}))


def build(folder: Path, *command: str, text: str = SOURCE, name: str = "everything") -> Path:
    """What a compiler makes of a file of C."""
    (folder / f"{name}.c").write_text(text)
    path = folder / f"{name}.o"
    subprocess.run(
        [need(command[0]), *command[1:], "-c", f"{name}.c", "-o", path.name], cwd=folder, check=True
    )
    return path


def encode(path: Path, *options: str) -> Path:
    """The file with .BTF made by pahole from its DWARF."""
    subprocess.run(
        [need("pahole"), "-J", "--btf_gen_floats", *options, path], check=True, capture_output=True
    )
    return path


def btf_reading(path: Path, wanted: Wanted = EVERYTHING, **options: str) -> Reading:
    return read(str(path), wanted, ReadOptions(reader="btf", **options))  # type: ignore[arg-type]


def view(reading: Reading) -> list[tuple[str, int, int | None, bool]]:
    (struct,) = reading.structs
    return [(f.type.declare(f.name or ""), f.bit_offset, f.bit_size, f.is_bitfield) for f in struct.fields]


@pytest.mark.parametrize(("arch", "target"), [("bpf", "unknown64-le"), ("bpfeb", "unknown64-be")])
def test_clang(tmp_path, arch, target):
    reading = btf_reading(build(tmp_path, "clang", "-target", arch, "-g"))
    assert (reading.reader, reading.target.name, reading.is_kernel) == ("btf", target, False)
    assert view(reading) == FIELDS


def test_pahole(tmp_path):
    reading = btf_reading(encode(build(tmp_path, "gcc", "-g")))
    assert (reading.target.name, reading.notes) == ("x86_64", ())
    flat = [("char name[32]", *field[1:]) if field[0] == "char name[2][16]" else field for field in FIELDS]
    assert view(reading) == flat


def test_members_of_members(tmp_path):
    (struct,) = btf_reading(build(tmp_path, "clang", "-target", "bpf", "-g")).structs
    members = {
        field.name: [inner.name for inner in field.members] for field in struct.fields if field.members
    }
    assert members == {"either": ["i", "f"], None: ["a", "b"], "boxed": ["word"], "list": ["next"]}


def test_a_module_that_pahole_encodes_on_vmlinux(tmp_path):
    shared = "struct shared { long a; int b : 3, c : 5; };\n"
    vmlinux = encode(build(tmp_path, "gcc", "-g", text=f"{shared}struct shared s;", name="vmlinux"))
    raw = tmp_path / "vmlinux.btf"
    subprocess.run([need("objcopy"), "-O", "binary", "--only-section=.BTF", "--set-section-flags", ".BTF=alloc", vmlinux, raw],
                   check=True)  # fmt: skip
    text = f"{shared}struct own {{ struct shared inner; char *name; }} own;"
    module = encode(build(tmp_path, "gcc", "-g", text=text, name="module"), f"--btf_base={raw}")
    for base in (vmlinux, raw):
        (own,) = btf_reading(module, Wanted(everything=True), btf_base=str(base)).structs
        assert [(f.name, str(f.type), f.bit_offset) for f in own.fields] == [
            ("inner", "struct shared", 0),
            ("name", "char *", 128),
        ]
        assert [(f.name, f.bit_offset, f.bit_size) for f in own.fields[0].members] == [
            ("a", 0, 64),
            ("b", 64, 3),
            ("c", 67, 5),
        ]
    with pytest.raises(ReadError, match="is split BTF, as of a kernel module: give the BTF of its vmlinux"):
        btf_reading(module)


def with_sections(folder: Path, **sections: bytes) -> Path:
    """An object file with sections of these names, `_` standing for a dot."""
    path = build(folder, "gcc", text="int x;")
    for name, data in sections.items():
        (folder / name).write_bytes(data)
        subprocess.run(
            [need("objcopy"), "--add-section", f"{name.replace('_', '.')}={folder / name}", path], check=True
        )
    return path


def test_a_module_that_brings_a_distilled_base(tmp_path):
    """.BTF.base has the structs of vmlinux by size, without members (libbpf, btf__distill_base)."""
    distilled = blob(record(1, STRUCT, 8) + LONG, b"\0list_head\0next\0long int\0")
    reading = btf_reading(with_sections(tmp_path, _BTF=SPLIT, _BTF_base=distilled), Wanted(everything=True))
    (own,) = reading.structs
    assert [(f.name, f.bit_offset, f.bit_size, f.members) for f in own.fields] == [
        ("next", 0, 64, ()),
        ("size", 64, 64, ()),
    ]
    assert (
        "what vmlinux defines is in its .BTF.base by size only: such members cannot be looked into"
        in reading.notes
    )


DAMAGED = [
    ("the blob", {"_BTF": BASE[:40]}, "damaged BTF: its strings end at 89, behind the end of the data at 40"),
    ("the distilled base", {"_BTF": SPLIT, "_BTF_base": b"\0" * 24},
     "damaged BTF in .BTF.base: it starts with the bytes 00 00, where BTF has 9f eb or eb 9f"),
    ("split without its base", {"_BTF": SPLIT},
     "is split BTF, as of a kernel module: give the BTF of its vmlinux with `--btf-base FILE`"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sections", "reason"), [case[1:] for case in DAMAGED], ids=[case[0] for case in DAMAGED]
)
def test_damaged_sections(tmp_path, sections, reason):
    path = with_sections(tmp_path, **sections)
    with pytest.raises(ReadError) as caught:
        btf_reading(path)
    assert (caught.value.path, caught.value.reason) == (str(path), reason)


def test_a_base_without_btf(tmp_path):
    path = with_sections(tmp_path, _BTF=SPLIT)
    with pytest.raises(ReadError, match=r"has no \.BTF, so it cannot be the base of a module's"):
        btf_reading(path, btf_base=str(build(tmp_path, "gcc", text="int x;", name="base")))


UNAMES = [
    # what uname(2) says, target of a blob with a `long` of 8 bytes, little-endian
    ("x86_64", "x86_64"),
    ("aarch64", "aarch64"),
    ("ppc64le", "powerpc64le"),
    ("s390x", "unknown64-le"),
    ("i686", "unknown64-le"),
    ("pdp11", "unknown64-le"),
]


@pytest.mark.parametrize(("machine_name", "target"), UNAMES)
def test_the_running_kernel_is_of_the_running_machine(monkeypatch, machine_name, target):
    uname = btf.os.uname()
    monkeypatch.setattr(btf.os, "uname", lambda: type(uname)((*uname[:4], machine_name)))
    long_int = blob(record(1, 1, 8, 64), b"\0long int\0")
    assert btf.choose_target("/sys/kernel/btf/vmlinux", Blob(long_int))[0].name == target
