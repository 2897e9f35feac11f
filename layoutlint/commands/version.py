"""Which modules run compiled: installing compiles those with a `.pxd` file and each `.pyx`, if it can."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from importlib.machinery import ExtensionFileLoader, PathFinder
from pathlib import Path

_REBUILD = "python setup.py build_ext --inplace"
_PACKAGE = Path(__file__).parents[1]


def state(package: Path = _PACKAGE) -> str:
    """Return `compiled`, `interpreted` or `partly compiled`, as an import would find the modules."""
    states = {_is_compiled(folder, name) for folder, name in _modules(package)}
    if states == {True, False}:
        return "partly compiled"
    return "compiled" if states == {True} else "interpreted"


def stale_modules(checkout: Path = _PACKAGE.parent) -> list[str]:
    """Return the modules of a checkout that are compiled from other sources than those beside them.

    `setup.py` writes a digest of the sources into each compiled module.
    """
    declarations, cython = (
        sorted(path.relative_to(checkout) for path in (checkout / "layoutlint").rglob(pattern))
        for pattern in ("*.pxd", "*.pyx")
    )
    stale = []
    named = (declaration.with_suffix(".py") for declaration in declarations)
    for source in (*(each for each in named if (checkout / each).is_file()), *cython):
        spec = PathFinder.find_spec(source.stem, [str((checkout / source).parent)])
        if spec is None or spec.origin is None or not isinstance(spec.loader, ExtensionFileLoader):
            continue
        mark = _mark(checkout, (source, *declarations, Path("setup.py")))
        if mark not in Path(spec.origin).read_bytes():
            stale.append(str(source))
    return stale


def _mark(checkout: Path, sources: Iterable[Path]) -> bytes:
    """Return what `mark` of setup.py returns."""
    from hashlib import sha256

    digest = sha256()
    for source in sources:
        content = (checkout / source).read_bytes()
        digest.update(b"%s %d\n" % (source.as_posix().encode(), len(content)))
        digest.update(content)
    return b"layoutlint-source:" + digest.hexdigest().encode()


def remedy(error: BaseException) -> str:
    """Return what mends an error that compiled modules of other sources can cause; empty without such."""
    if not isinstance(error, (ImportError, AttributeError, TypeError)):
        return ""
    try:
        stale = stale_modules()
    except OSError:  # no checkout
        return ""
    if not stale:
        return ""
    from layoutlint.phrases import first_few, quantity

    return f"{quantity(len(stale), 'compiled module')} of other sources: {first_few(stale)}; run `{_REBUILD}`"


def _modules(package: Path) -> Iterator[tuple[str, str]]:
    for folder, _, files in os.walk(package):
        names = (os.path.splitext(file) for file in files)
        sources = ((name, {".pxd": ".py", ".pyx": ".pyx"}.get(suffix)) for name, suffix in names)
        yield from ((folder, name) for name, suffix in sources if suffix and f"{name}{suffix}" in files)


def _is_compiled(folder: str, name: str) -> bool:
    # By the module's own name, in its folder: a dotted name would import the packages above it.
    spec = PathFinder.find_spec(name, [folder])
    return spec is not None and isinstance(spec.loader, ExtensionFileLoader)
