"""Bootable kernels: where a bzImage (vmlinuz) of x86 holds its vmlinux, and how other images are recognised.

The layout is that of Documentation/arch/x86/boot.rst of Linux; the payload is compressed as
scripts/Makefile.lib says.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

from layoutlint.errors import ReadError

HEAD = 0x250
"""The bytes from the start of a file that show what it is."""
_MAGIC_AT, _MAGIC = 0x202, b"HdrS"
_SECTORS_AT, _VERSION_AT, _PAYLOAD_AT = 0x1F1, 0x206, 0x248
_SECTOR = 512
_FIRST_WITH_PAYLOAD = 0x208
"""The version of the boot protocol since which the header names the payload (Linux 2.6.26)."""
_ZBOOT_AT, _ZBOOT = 4, b"zimg"
"""EFI images that unpack themselves (drivers/firmware/efi/libstub/zboot-header.S)."""
_ARM64_AT, _ARM64 = 0x38, b"ARM\x64"
"""Documentation/arch/arm64/booting.rst."""
HINT = (
    "give vmlinux instead: that of the build, of the distribution's debug package "
    "(/usr/lib/debug/boot/vmlinux-VERSION), or /sys/kernel/btf/vmlinux of the running kernel"
)


def is_x86(head: bytes) -> bool:
    """Return whether a file that starts like this is a bzImage."""
    return head[_MAGIC_AT : _MAGIC_AT + 4] == _MAGIC


def refusal(head: bytes) -> str | None:
    """Return why an image for another machine is not read; None for a file that is none."""
    if head.startswith(b"MZ") and head[_ZBOOT_AT : _ZBOOT_AT + 4] == _ZBOOT:
        return f"is a kernel image that EFI starts, without an ELF file; {HINT}"
    if head[_ARM64_AT : _ARM64_AT + 4] == _ARM64:
        return f"is a kernel image for arm64, without an ELF file; {HINT}"
    return None


def payload(path: str, file: BinaryIO, head: bytes, size: int) -> bytes:
    """Return the compressed vmlinux of a bzImage of `size` bytes; raises ReadError if it has none."""
    if len(head) < HEAD:
        raise ReadError(path, "damaged or truncated kernel image: it ends within its header")
    (version,) = struct.unpack_from("<H", head, _VERSION_AT)
    if version < _FIRST_WITH_PAYLOAD:
        raise ReadError(
            path, f"is a kernel image of the boot protocol {version:#x}, too old to be read; {HINT}"
        )
    offset, length = struct.unpack_from("<II", head, _PAYLOAD_AT)
    start = ((head[_SECTORS_AT] or 4) + 1) * _SECTOR + offset
    if length < 16 or start + length > size:
        message = f"its payload has {length:,} bytes from byte {start:,}, the file has {size:,}"
        raise ReadError(path, f"damaged or truncated kernel image: {message}")
    file.seek(start)
    return file.read(length)
