"""`suggest` for the builds of a matrix: one order of a struct's members for all of them."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.errors import ReadError, struct_hint
from layoutlint.judgement.rule import Pack
from layoutlint.lint.matrix import options_of_build, randomisation_of
from layoutlint.lint.options import Options
from layoutlint.lint.subject import NoStruct
from layoutlint.model.build import Build, short_name
from layoutlint.model.record import replace
from layoutlint.readers import inputs
from layoutlint.suggestion.builds import Request, Subject, read_subject
from layoutlint.suggestion.orders.result import Suggestion
from layoutlint.suggestion.run import best_order


def suggest_for_builds(
    matrix: str,
    builds: tuple[Build, ...],
    request: Request,
    packs: tuple[Pack, ...],
    kernel_packs: tuple[Pack, ...],
    options: Options,
) -> Suggestion:
    """Return the best order of a struct for all builds that have it; `matrix` is the name of their file.

    Raises ReadError if a build states too little, or none has the struct.
    """
    subjects: list[Subject] = []
    lacking: list[str] = []
    for done, build in enumerate(builds):
        options.read.progress("builds", done, len(builds))
        subject = _read(build, request.struct, packs, kernel_packs, options)
        if subject is None:
            lacking.append(build.name)
        else:
            subjects.append(subject)
    if not subjects:
        names = inputs.names(builds[0].inputs, options_of_build(builds[0], options).read)
        raise ReadError(matrix, f"no build has a struct {request.struct}{struct_hint(request.struct, names)}")
    result = best_order(subjects, matrix, request)
    if not lacking:
        return result
    note = f"no struct {request.struct} is in {short_name(lacking, builds)}"
    return replace(result, notes=(*result.notes, note))


def _read(
    build: Build, name: str, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Subject | None:
    """Return the struct of a build; None if it has none. Raises ReadError with the name of the build."""
    try:
        randomised = options.randomised or randomisation_of(build)
        own = options_of_build(build, replace(options, randomised=randomised))
        subjects = list(_read_each_input(build, name, packs, kernel_packs, own))
    except ReadError as error:
        raise ReadError(error.path, f"{error.reason} (build {build.name})") from None
    if len({(each.input_struct.struct.bit_size, each.input_struct.struct.fields) for each in subjects}) > 1:
        paths = " and ".join(each.path for each in subjects)
        raise ReadError(paths, f"define struct {name} differently (build {build.name})")
    return subjects[0] if subjects else None


def _read_each_input(
    build: Build, name: str, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Iterator[Subject]:
    """Yield the struct of each input of a build that has it. Raises ReadError."""
    for path in build.inputs:
        try:
            yield read_subject(path, name, packs, kernel_packs, options, build)
        except NoStruct:
            continue
