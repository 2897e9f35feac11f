"""Compiles every module that has a `.pxd` beside it or is a `.pyx`, and makes the man pages.
setup.cfg has all else about the package.

A compiled module and its source give the same results, so an installation never fails for want of a compiler,
of Python's headers or of Cython: the source is installed as well, and runs where there is no compiled module.
LAYOUTLINT_COMPILE=never compiles nothing (that wheel fits every machine), =must fails when compiling does.
Compiled modules know how the others lay out their objects, so that all of them are compiled or none is.
"""

import hashlib
import logging
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

from distutils.command.install_data import install_data  # isort: skip  # setuptools brings it

ROOT = Path(__file__).resolve().parent

# An index that is out of bounds raises IndexError and reads nothing (boundscheck; a negative one is out of
# bounds, wraparound), division is Python's (cdivision). Memory that was never set has no length, so that any
# index is out of its bounds, and initializedcheck would say no more: a thirtieth of the whole run.
# Types come from the .pxd alone: annotations say what type checkers need, which may be wider or narrower.
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": True,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": False,
    "annotation_typing": False,
    "auto_pickle": False,  # nothing compiled is pickled
}

SHARED = "layoutlint._shared"  # what Cython would else put into every module: memory views above all

# Where nearly all the time goes. The others are as fast with -O1, and compiled in half the time.
OFTEN = (
    "cursor", "holders", "word_tables", "file_table", "file_ids", "scan", "type_ids", "string_ids", "unit",
    "layouts", "moves", "sample_scan",
)  # fmt: skip


def declarations() -> list[Path]:
    """Every `.pxd`, from the top of the project."""
    return sorted(pxd.relative_to(ROOT) for pxd in (ROOT / "layoutlint").rglob("*.pxd"))


def modules() -> list[Path]:
    """The sources that have a `.pxd` beside them, and those in Cython, from the top of the project."""
    sources = [pxd.with_suffix(".py") for pxd in declarations()]
    cython = [pyx.relative_to(ROOT) for pyx in sorted((ROOT / "layoutlint").rglob("*.pyx"))]
    return [source for source in sources if (ROOT / source).exists()] + cython


def named_sources() -> dict[str, list[str]]:
    """The sources by the names of the modules to compile; the shared one has none."""
    named = {".".join(source.with_suffix("").parts): [str(source)] for source in modules()}
    return named | ({SHARED: []} if named else {})


def mark(*sources: Path) -> str:
    """What a compiled module contains to say which source, declarations and directives it was made of."""
    digest = hashlib.sha256()
    for file in (*sources, *declarations(), Path("setup.py")):
        digest.update(b"%s %d\n" % (file.as_posix().encode(), (ROOT / file).stat().st_size))
        digest.update((ROOT / file).read_bytes())
    return f"layoutlint-source:{digest.hexdigest()}"


def translator() -> str:
    """What follows the mark, because modules fit a shared one of the same Cython; empty without Cython."""
    try:
        import Cython
    except ImportError:
        return ""
    return f" Cython:{Cython.__version__};"


def optimisation(name: str) -> list[str]:
    """How far to optimise a module, where CFLAGS does not say."""
    if "-O" in os.environ.get("CFLAGS", ""):
        return []
    return ["-O2" if name.rpartition(".")[2] in OFTEN else "-O1"]


def translate(name: str, sources: list[str], made_of: str, folder: str) -> str:
    """The path of the C that Cython makes of a source (the shared one has none); raises CompileError."""
    try:
        from Cython.Build import cythonize

        made = cythonize(
            [Extension(name, sources)], build_dir=folder, compiler_directives=DIRECTIVES if sources else {},
            shared_utility_qualified_name=SHARED, force=True, quiet=True,
        )[0].sources[0]  # fmt: skip
        with open(made, "r+", encoding="utf-8") as c:  # an error in the shared module raises nothing
            c.seek(0, os.SEEK_END)
            c.write("\nextern const char layoutlint_source[];\n")
            c.write(f'const char layoutlint_source[] = "{made_of}";\n')
    except Exception as error:  # Cython's errors have no class in common
        raise CompileError(f"{name}: {type(error).__name__}: {error}") from error
    return made


class Build(build_ext):
    """Translates the sources into the build folder, and compiles those that changed, side by side."""

    translating = threading.Lock()  # Cython keeps state of its own; C compilers are processes

    def finalize_options(self) -> None:
        """Contents decide what is compiled anew, not the times of files, which setuptools would compare."""
        super().finalize_options()
        self.everything, self.force = self.force, True
        self.beside_sources = bool(self.inplace)  # `pip install -e` too; off while it builds
        self.parallel = self.parallel or True  # as many as there are processors

    def build_extensions(self) -> None:
        """Compile all modules; when one that is optional fails, those that did not are of no use."""
        super().build_extensions()
        made = [Path(self.get_ext_fullpath(ext.name)) for ext in self.extensions]
        if not all(path.exists() for path in made):
            for path in made:
                path.unlink(missing_ok=True)

    def copy_extensions_to_source(self) -> None:
        """Put all modules beside their sources; what could not be compiled anew does not stay there."""
        for ext in self.extensions:
            Path(self.get_ext_fullpath(ext.name)).unlink(missing_ok=True)
        super().copy_extensions_to_source()

    def build_extension(self, ext: Extension) -> None:
        """Compile one module; raises CompileError, which is but a warning where the module is optional."""
        target = Path(self.get_ext_fullpath(ext.name))
        made_of = mark(*map(Path, ext.sources)) + translator()
        if not self.everything and self.reuse(ext.name, target, made_of):
            return
        target.unlink(missing_ok=True)  # setuptools would put a stale one into place after a failure
        ext.sources = [self.translate(ext, made_of)]
        if self.compiler.compiler_type == "unix":
            ext.extra_compile_args = ["-g0", *optimisation(ext.name)]
        super().build_extension(ext)

    def reuse(self, name: str, target: Path, made_of: str) -> bool:
        """Whether a module made of the same is there, for builds that leave it there beside the source."""
        places = [target, Path(self.get_ext_filename(name))] if self.beside_sources else [target]
        same = (each for each in places if each.exists() and made_of.encode() in each.read_bytes())
        kept = next(same, None)
        if kept is not None and kept != target:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(kept, target)
        return kept is not None

    def translate(self, ext: Extension, made_of: str) -> str:
        """The path of the C that Cython makes of a source; raises CompileError."""
        with self.translating:
            return translate(ext.name, list(ext.sources), made_of, self.build_temp)


class Manual(install_data):
    """Puts the man pages, which it makes from the help texts, into wheels; editable ones have no data."""

    def run(self) -> None:
        """Install what could be made: a package without pages works as well."""
        folder = Path(self.get_finalized_command("build").build_temp) / "man"
        words = [sys.executable, "-m", "layoutlint.commands.man_pages", str(folder.resolve())]
        if subprocess.run(words, cwd=ROOT).returncode:
            logging.warning("without man pages")
        self.data_files = [("share/man/man1", sorted(map(str, folder.glob("*.1"))))]
        super().run()


def extensions() -> list[Extension]:
    """What to compile, and whether it may fail."""
    choice = os.environ.get("LAYOUTLINT_COMPILE", "")
    if choice not in ("", "never", "must"):
        raise SystemExit(f"LAYOUTLINT_COMPILE={choice}: give never or must, or leave it out")
    if choice == "never":
        return []
    return [Extension(name, sources, optional=choice != "must") for name, sources in named_sources().items()]


if __name__ == "__main__":  # tests load this file for `modules`, `mark` and `SHARED`
    # The pages are named once they are made; without any name, setuptools would not ask for them.
    pages = [("share/man/man1", [])]
    setup(ext_modules=extensions(), data_files=pages, cmdclass={"build_ext": Build, "install_data": Manual})
