"""What a compiler says of C structs: it compiles a file that asks for sizes, offsets and bits, and answers itself.

`ask` runs the program. `ask_object` compiles constants and reads them from the object, so that any target that the
compiler knows can be asked, without its libraries and without running anything.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from elftools.elf.elffile import ELFFile

from tests.harness.built import built_once
from tests.harness.tools import need
from tests.oracles.c_structs import CStruct, Leaf, leaves, source


@dataclass(slots=True)
class Facts:
    """What the compiled code says of one struct: bytes, and bits per field path."""

    size: int
    align: int
    spots: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    """Offset and length in bits; the length is None where C has no way to ask."""


COUNTING = """
#include <stdio.h>
#include <string.h>
#define AT(of, path) printf("%zu ", __builtin_offsetof(of, path))
#define LENGTH(of, path) printf("%zu\\n", sizeof(((of *)0)->path))
static void bits(const void *object, size_t size)
{
	const unsigned char *byte = object;
	long first = -1, last = -1, set = 0;
	for (size_t i = 0; i < size * 8; i++)
		if (byte[i / 8] >> i % 8 & 1) {
			first = first < 0 ? (long)i : first;
			last = i;
			set++;
		}
	printf("%ld %ld %ld\\n", first, last, set);
}
#define BITS(of, path) do { static of object; memset(&object, 0, sizeof object); object.path = -1; \\
	bits(&object, sizeof object); } while (0)
"""


def _questions(structs: tuple[CStruct, ...]) -> Iterator[str]:
    """The statements that print the facts, one line each, in the order in which they are read."""
    for struct in structs:
        tag = struct.tag
        yield f'printf("%zu %zu\\n", sizeof({tag}), _Alignof({tag}));'
        for leaf in _ask(struct):
            if leaf.is_bitfield:
                yield f"BITS({tag}, {leaf.expression});"
            elif leaf.has_size:
                yield f"AT({tag}, {leaf.expression}); LENGTH({tag}, {leaf.expression});"
            else:
                yield f"AT({tag}, {leaf.expression}); puts(\"-1\");"


def _ask(struct: CStruct) -> Iterator[Leaf]:
    return (leaf for leaf in leaves(struct.members) if leaf.has_storage or not leaf.is_bitfield)


def compile_c(compiler: str, text: str, into: Path, *flags: str) -> Path:
    """Compile a C file to `into`; a failure shows the compiler's words."""
    return _compile(into.parent, into.name, compiler, text, *flags)


@built_once
def _compile(folder: Path, name: str, compiler: str, text: str, *flags: str) -> Path:
    path = (folder / name).with_suffix(".c")
    path.write_text(text)
    done = subprocess.run([need(compiler, "-w", *flags), "-w", *flags, "-o", str(folder / name), str(path)], capture_output=True, text=True)
    assert done.returncode == 0, f"{compiler}: {done.stderr}\n{text}"
    return folder / name


def ask(compiler: str, structs: tuple[CStruct, ...], folder: Path, *flags: str) -> dict[str, Facts]:
    """Compile and run a program that prints the facts about its own structs."""
    questions = "".join(f"\t{line}\n" for line in _questions(structs))
    text = f"{source(structs)}{COUNTING}int main(void)\n{{\n{questions}\treturn 0;\n}}\n"
    program = compile_c(compiler, text, folder / f"ask-{compiler}", *flags)
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True, timeout=20).stdout
    return _answers(structs, iter(printed.splitlines()))


def _answers(structs: tuple[CStruct, ...], lines: Iterator[str]) -> dict[str, Facts]:
    facts: dict[str, Facts] = {}
    for struct in structs:
        size, align = map(int, next(lines).split())
        facts[struct.name] = output = Facts(size, align)
        for leaf in _ask(struct):
            numbers = [int(word) for word in next(lines).split()]
            if leaf.is_bitfield:
                first, last, count = numbers
                assert last - first + 1 == count, f"{struct.name}.{leaf.path} is not one run of bits"
                output.spots[leaf.path] = (first, count)
            else:
                output.spots[leaf.path] = (numbers[0] * 8, None if numbers[1] < 0 else numbers[1] * 8)
    return facts


def ask_object(compiler: str, structs: tuple[CStruct, ...], folder: Path, *flags: str) -> dict[str, Facts]:
    """Compile constants that hold the facts, for any target, and read them from the object."""
    text = source(structs) + "".join(_constants(struct) for struct in structs)
    built = compile_c(compiler, text, folder / f"constants-{compiler}.o", "-c", *flags)
    with open(built, "rb") as file:
        elf = ELFFile(file)
        symbols = elf.get_section_by_name(".symtab")
        data = {
            symbol.name: elf.get_section(symbol["st_shndx"]).data()[symbol["st_value"] :][: symbol["st_size"]]
            for symbol in symbols.iter_symbols()
            if symbol.name.startswith(("fact_", "bits_"))
        }
        order = "little" if elf.little_endian else "big"
    return {struct.name: _decode(struct, data, order) for struct in structs}


def _constants(struct: CStruct) -> str:
    """An array with the numbers, and an object for each bit-field in which only its bits are set."""
    tag = struct.tag
    numbers = [f"sizeof({tag})", f"_Alignof({tag})"]
    objects = []
    for number, leaf in enumerate(_ask(struct)):
        if leaf.is_bitfield:
            objects.append(f"{tag} bits_{struct.name}_{number} = {{ .{leaf.expression} = -1 }};\n")
        else:
            length = f"sizeof((({tag} *)0)->{leaf.expression})" if leaf.has_size else "-1"
            numbers += [f"__builtin_offsetof({tag}, {leaf.expression})", length]
    return f"long long fact_{struct.name}[] = {{ {', '.join(numbers)} }};\n" + "".join(objects)


def _decode(struct: CStruct, data: dict[str, bytes], order: str) -> Facts:
    words = data[f"fact_{struct.name}"]
    numbers = iter([int.from_bytes(words[at : at + 8], order, signed=True) for at in range(0, len(words), 8)])
    facts = Facts(next(numbers), next(numbers))
    for number, leaf in enumerate(_ask(struct)):
        if leaf.is_bitfield:
            facts.spots[leaf.path] = _run(data[f"bits_{struct.name}_{number}"], order)
        else:
            offset, length = next(numbers), next(numbers)
            facts.spots[leaf.path] = (offset * 8, None if length < 0 else length * 8)
    return facts


def _run(content: bytes, order: str) -> tuple[int, int]:
    """Where the one run of set bits is; bits count from the side on which the target lays out bit-fields."""
    bits = "".join(f"{byte:08b}"[:: 1 if order == "big" else -1] for byte in content)
    run = bits.strip("0")
    assert run, "no bit is set"
    assert "0" not in run, "more than one run of bits is set"
    return bits.index("1"), len(run)
