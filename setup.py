"""Compiles every module that has a `.pxd` beside it; all else about the package stands in setup.cfg.

A compiled module and its source give the same results, so an installation never fails for want of a compiler,
of Python's headers or of Cython: the source is installed as well, and runs where there is no compiled module.
LAYOUTLINT_COMPILE=never compiles nothing (that wheel fits every machine), =must fails when compiling does.
"""

import hashlib
import os
import threading
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

ROOT = Path(__file__).resolve().parent

# An index that is out of bounds raises IndexError and reads nothing (boundscheck; a negative one is out of
# bounds, wraparound), memory never set is refused (initializedcheck), division is Python's (cdivision).
# Types come from the .pxd alone: annotations say what type checkers need, which may be wider or narrower.
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": True,
    "wraparound": False,
    "initializedcheck": True,
    "cdivision": False,
    "annotation_typing": False,
}


def declarations() -> list[Path]:
    """Every `.pxd`, from the top of the project."""
    return sorted(pxd.relative_to(ROOT) for pxd in (ROOT / "layoutlint").rglob("*.pxd"))


def modules() -> list[Path]:
    """The sources that have a `.pxd` beside them, from the top of the project."""
    sources = [pxd.with_suffix(".py") for pxd in declarations()]
    return [source for source in sources if (ROOT / source).exists()]


def mark(source: Path) -> str:
    """What a compiled module contains to say which source, declarations and directives it was made of."""
    digest = hashlib.sha256()
    for file in (source, *declarations(), Path("setup.py")):
        digest.update(b"%s %d\n" % (file.as_posix().encode(), (ROOT / file).stat().st_size))
        digest.update((ROOT / file).read_bytes())
    return f"layoutlint-source:{digest.hexdigest()}"


class Build(build_ext):
    """Translates the sources into the build folder, and compiles those that changed, side by side."""

    translating = threading.Lock()  # Cython keeps state of its own; C compilers are processes

    def finalize_options(self) -> None:
        """Contents decide what is compiled anew, not the times of files, which setuptools would compare."""
        super().finalize_options()
        self.everything, self.force = self.force, True
        self.parallel = self.parallel or True  # as many as there are processors

    def build_extension(self, ext: Extension) -> None:
        """Compile one module; raises CompileError, which is but a warning where the module is optional."""
        source = Path(ext.sources[0])
        target = Path(self.get_ext_fullpath(ext.name))
        if not self.everything and target.exists() and mark(source).encode() in target.read_bytes():
            return
        target.unlink(missing_ok=True)  # setuptools would put a stale one into place after a failure
        ext.sources = [self.translate(source, ext.name)]
        if self.compiler.compiler_type == "unix":
            ext.extra_compile_args = ["-g0"]  # how far to optimise is as Python was built, or as CFLAGS says
        super().build_extension(ext)

    def translate(self, source: Path, name: str) -> str:
        """The path of the C that Cython makes of a source; raises CompileError."""
        try:
            from Cython.Build import cythonize

            module = Extension(name, [str(source)])
            with self.translating:
                made = cythonize(
                    [module], build_dir=self.build_temp, compiler_directives=DIRECTIVES,
                    force=True, quiet=True,
                )[0].sources[0]  # fmt: skip
        except Exception as error:  # Cython's errors have no class in common
            raise CompileError(f"{source}: {type(error).__name__}: {error}") from error
        with open(made, "a", encoding="utf-8") as c:
            c.write("\nextern const char layoutlint_source[];\n")
            c.write(f'const char layoutlint_source[] = "{mark(source)}";\n')
        return made


def extensions() -> list[Extension]:
    """What to compile, and whether it may fail."""
    choice = os.environ.get("LAYOUTLINT_COMPILE", "")
    if choice not in ("", "never", "must"):
        raise SystemExit(f"LAYOUTLINT_COMPILE={choice}: give never or must, or leave it out")
    if choice == "never":
        return []
    return [
        Extension(".".join(source.with_suffix("").parts), [str(source)], optional=choice != "must")
        for source in modules()
    ]


if __name__ == "__main__":  # tests load this file for `modules` and `mark`
    setup(ext_modules=extensions(), cmdclass={"build_ext": Build})
