"""Questions to the store of a survey, as SQL for DuckDB (docs/survey.md).

The views `runs`, `readings`, `layouts`, `verdicts` and `problems` have the latest run of each input.
"""

from __future__ import annotations

import glob
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from layoutlint.errors import ReadError
from layoutlint.model.record import Record
from layoutlint.surveys.report import (
    Cost,
    CostTotals,
    FailingVerdict,
    InputCount,
    LayoutVariant,
    RuleStanding,
    StoreReport,
    StructVariants,
)
from layoutlint.surveys.result import FailedInput, Outcomes
from layoutlint.surveys.store import Store, arrow_schema
from layoutlint.surveys.tables import OUTCOMES, RUNS, TABLES, WITHOUT, Column
from layoutlint.workers.temporary_folder import temporary_folder

_TYPES = {
    "text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN",
    "time": "TIMESTAMP WITH TIME ZONE", "texts": "VARCHAR[]", "integers": "BIGINT[]",
}  # fmt: skip
_LISTED = 1_000
_COSTLY = 20
_VARIANTS = 20
_FEW = 3
_VERSION = "list_transform(string_split({0}, '.'), lambda part: TRY_CAST(part AS INTEGER))"
"""The numbers of a release, by which it is sorted."""

_LATEST = """
SELECT * FROM all_runs
QUALIFY row_number() OVER (PARTITION BY input ORDER BY ended DESC, key) = 1
"""
_ROWS = "SELECT runs.input, part.* FROM all_{0} AS part JOIN runs USING (key)"

_STANDINGS = f"""
WITH worst AS (
    SELECT rule, struct, target, release, input, severity,
        CASE outcome WHEN 'broken' THEN 3 WHEN 'at-risk' THEN 2 WHEN 'unknown' THEN 1 ELSE 0 END AS rank
    FROM verdicts WHERE NOT guess AND suppressed IS NULL AND rule GLOB $rule AND struct GLOB $struct
), inputs AS (
    SELECT rule, struct, target, release, input, any_value(severity) AS severity, max(rank) AS rank
    FROM worst GROUP BY ALL
), by_release AS (
    SELECT rule, struct, target, release, {_VERSION.format("release")} AS version,
        max(rank) AS rank, bool_or(rank = 0) AS kept
    FROM inputs WHERE release IS NOT NULL GROUP BY ALL
), last_good AS (
    SELECT rule, struct, target, max(version) FILTER (rank < 2) AS version,
        arg_max(release, version) FILTER (rank = 0) AS kept_in, count(*) AS releases
    FROM by_release GROUP BY ALL
), streaks AS (
    SELECT rule, struct, target, arg_min(release, by_release.version) AS since
    FROM by_release JOIN last_good USING (rule, struct, target)
    WHERE rank >= 2 AND (last_good.version IS NULL OR by_release.version > last_good.version) GROUP BY ALL
)
SELECT rule, struct, target, any_value(severity),
    count(*) FILTER (rank = 0), count(*) FILTER (rank = 2), count(*) FILTER (rank = 3),
    count(*) FILTER (rank = 1),
    any_value(coalesce(releases, 0)), any_value(since),
    any_value(CASE WHEN since IS NULL THEN NULL ELSE kept_in END),
    coalesce((list_sort(list(DISTINCT input) FILTER (rank >= 2)))[1:{_FEW}], [])
FROM inputs LEFT JOIN last_good USING (rule, struct, target) LEFT JOIN streaks USING (rule, struct, target)
GROUP BY rule, struct, target
ORDER BY count(*) FILTER (rank >= 2) DESC, rule, struct, target
"""
_DIFFERING = """
WITH chosen AS (SELECT * FROM layouts WHERE struct GLOB $struct),
per_input AS (SELECT struct, input, count(DISTINCT layout) AS number FROM chosen GROUP BY ALL),
per_build AS (SELECT struct, target, release, count(DISTINCT layout) AS number FROM chosen GROUP BY ALL),
per_target AS (SELECT struct, target, count(DISTINCT layout) AS number FROM chosen GROUP BY ALL)
SELECT struct, count(DISTINCT input) AS inputs, count(DISTINCT layout) AS layouts,
    CASE
        WHEN struct IN (SELECT struct FROM per_input WHERE number > 1) THEN 'within-inputs'
        WHEN struct IN (SELECT struct FROM per_build WHERE number > 1) THEN 'between-builds'
        WHEN struct IN (SELECT struct FROM per_target WHERE number > 1) THEN 'between-releases'
        ELSE 'between-targets'
    END
FROM chosen GROUP BY struct HAVING count(DISTINCT layout) > 1
ORDER BY layouts DESC, inputs DESC, struct
"""
_BY_FREQUENCY = (
    f"count(DISTINCT input) DESC, min({_VERSION.format('release')}) NULLS FIRST, min(input), layout"
)
_VARIANTS_OF = f"""
SELECT struct, layout, any_value(size), list_sort(list(DISTINCT target)),
    list_transform(list_sort(list(DISTINCT {{'version': {_VERSION.format("release")}, 'release': release}})
        FILTER (release IS NOT NULL)), lambda each: each.release),
    count(DISTINCT input), min(input)
FROM layouts WHERE struct IN (SELECT struct FROM differing) GROUP BY struct, layout
QUALIFY row_number() OVER (PARTITION BY struct ORDER BY {_BY_FREQUENCY}) <= {_VARIANTS}
ORDER BY struct, {_BY_FREQUENCY}
"""
_TARGETS = "SELECT target, count(DISTINCT input) FROM readings GROUP BY ALL ORDER BY target"
_RELEASES = f"""
SELECT release, count(DISTINCT input) FROM readings WHERE release IS NOT NULL
GROUP BY release ORDER BY {_VERSION.format("release")}
"""
_FAILURES = """
SELECT input, outcome, failure, coalesce(message, ''), attempts FROM runs
WHERE outcome IN ('incomplete', 'failed')
ORDER BY outcome, failure, input
"""
_WITHOUT = f"SELECT input FROM runs WHERE outcome = '{WITHOUT}' ORDER BY input LIMIT {_LISTED}"
_TOTALS = """
SELECT count(*), coalesce(sum(size), 0)::BIGINT, coalesce(sum(seconds), 0),
    coalesce(sum(processor_seconds), 0), coalesce(max(memory), 0),
    coalesce(median(seconds), 0), coalesce(quantile_cont(seconds, 0.9), 0),
    coalesce(sum(cache_hits), 0)::BIGINT, coalesce(sum(cache_misses), 0)::BIGINT
FROM runs WHERE NOT reused
"""
_COSTS = """
SELECT input, size, seconds, processor_seconds, memory FROM runs WHERE NOT reused
ORDER BY processor_seconds DESC, input
"""
_FAILING = """
SELECT rule, struct, outcome, input, member, target, release, violating, placements, message FROM verdicts
WHERE outcome != 'kept' AND suppressed IS NULL AND NOT guess AND rule GLOB $rule AND struct GLOB $struct
ORDER BY rule, struct, input, member NULLS FIRST, target, fingerprint
"""
_BUILDS = f"""
WITH chosen AS (
    SELECT input, layouts.member, layouts.target, layouts.release, record, config
    FROM layouts LEFT JOIN all_readings AS reading ON layouts.key = reading.key
        AND layouts.target = reading.target AND layouts.member IS NOT DISTINCT FROM reading.member
    WHERE struct = $struct
), builds AS (
    SELECT input, member, target, release, list_sort(list(DISTINCT record)) AS records,
        any_value(config) AS config
    FROM chosen GROUP BY input, member, target, release
), named AS (
    SELECT concat_ws(':', input, member) AS name, * FROM builds
)
SELECT name, records, config FROM named
QUALIFY row_number() OVER (PARTITION BY target, release, records, config ORDER BY name) = 1
ORDER BY {_VERSION.format("release")} NULLS FIRST, target, name
"""
_UNREAD_WITHOUT = """
SELECT count(*) FROM runs
WHERE outcome != 'complete' AND input NOT IN (SELECT input FROM layouts WHERE struct = $struct)
"""


class RecordedBuild(Record, frozen=True):
    """One struct in one input, or in a file of it."""

    name: str
    records: tuple[str, ...]
    """Its definitions, as snapshots."""
    config: tuple[str, ...] | None
    """The kernel options that are on."""


class Filters(Record, frozen=True):
    """The rules and structs of a report: patterns as in shells."""

    rule: str = "*"
    struct: str = "*"


def report(store: Store, filters: Filters) -> StoreReport:
    """Return the report on a store. Raises ReadError for files that are damaged."""
    with _connect(store) as connection:
        return _report(store, connection, filters)


def failing_verdicts(store: Store, filters: Filters) -> list[FailingVerdict]:
    """Return the verdicts that are not kept, of the latest run of each input. Raises ReadError."""
    with _connect(store) as connection:
        values = {"rule": filters.rule, "struct": filters.struct}
        return [FailingVerdict(*row) for row in connection.execute(_FAILING, values).fetchall()]


def recorded_builds(store: Store, struct: str, inputs: Sequence[str]) -> tuple[list[RecordedBuild], int]:
    """Return the builds of a struct in inputs that match a pattern, and how many others were not read whole.

    Raises ReadError for files that are damaged.
    """
    with _connect(store) as connection:
        if inputs:
            matches = " OR ".join("input GLOB ?" for _ in inputs)
            connection.execute(f"CREATE TABLE chosen_runs AS FROM {RUNS} WHERE {matches}", list(inputs))
            connection.execute(f"DROP VIEW {RUNS}")
            connection.execute(f"ALTER TABLE chosen_runs RENAME TO {RUNS}")
        rows = connection.execute(_BUILDS, {"struct": struct}).fetchall()
        (unread,) = connection.execute(_UNREAD_WITHOUT, {"struct": struct}).fetchone()
    builds = [
        RecordedBuild(name, tuple(records), None if config is None else tuple(config))
        for name, records, config in rows
    ]
    return builds, unread


def recorded_names(store: Store) -> list[str]:
    """Return the names of all structs of a store. Raises ReadError."""
    with _connect(store) as connection:
        return [name for (name,) in connection.execute("SELECT DISTINCT struct FROM layouts").fetchall()]


def _report(store: Store, connection: Any, filters: Filters) -> StoreReport:
    def rows(query: str, **values: object) -> Any:
        return connection.execute(query, values).fetchall()

    outcomes = dict(rows("SELECT outcome, count(*) FROM runs GROUP BY ALL"))
    connection.execute(f"CREATE TABLE differing AS {_DIFFERING}", {"struct": filters.struct})
    failures = rows(_FAILURES)
    return StoreReport(
        store.path,
        sum(outcomes.values()),
        Outcomes(*(outcomes.get(name, 0) for name in OUTCOMES)),
        tuple(InputCount(*row) for row in rows(_TARGETS)),
        tuple(InputCount(*row) for row in rows(_RELEASES)),
        tuple(
            RuleStanding(*[*row[:-1], tuple(row[-1])])
            for row in rows(_STANDINGS, rule=filters.rule, struct=filters.struct)
        ),
        tuple(_variants(rows)),
        rows("SELECT count(*) FROM differing")[0][0],
        tuple(FailedInput(*row) for row in failures[:_LISTED]),
        len(failures),
        tuple(name for (name,) in rows(_WITHOUT)),
        CostTotals(*_round_times(rows(_TOTALS)[0])),
        tuple(Cost(*_round_times(row)) for row in rows(f"{_COSTS} LIMIT {_COSTLY}")),
    )


def _round_times(row: Sequence[Any]) -> list[Any]:
    """Return a row with its times in milliseconds, which are enough."""
    return [round(value, 3) if isinstance(value, float) else value for value in row]


def _variants(rows: Callable[[str], Any]) -> Iterator[StructVariants]:
    variants = defaultdict(list)
    for struct, *row in rows(_VARIANTS_OF):
        layout, size, targets, releases, inputs, example = row
        variants[struct].append(
            LayoutVariant(layout, size, tuple(targets), tuple(releases or ()), inputs, example)
        )
    for struct, inputs, layouts, differs in rows(f"FROM differing LIMIT {_LISTED}"):
        yield StructVariants(struct, inputs, layouts, differs, tuple(variants[struct]))


@contextmanager
def _connect(store: Store) -> Iterator[Any]:
    """Yield a connection to a database with the views of a store. Raises ReadError for damaged files."""
    import duckdb

    with temporary_folder() as folder:
        connection = duckdb.connect(
            config={
                "temp_directory": folder,
                "autoinstall_known_extensions": False,
                "memory_limit": "2GB",
                "python_enable_replacements": False,
            }
        )
        try:
            _make_views(store, connection)
            yield connection
        except duckdb.OutOfMemoryException as error:
            raise ReadError(store.path, "there is not enough memory or disk space for the query") from error
        except (UnicodeDecodeError, RuntimeError) as error:  # in a text, or in the message about it
            raise ReadError(store.path, "is damaged: a text is not UTF-8") from error
        except duckdb.Error as error:
            raise ReadError(store.path, f"is damaged: {str(error).splitlines()[0][:300]}") from error
        finally:
            connection.close()


def _check_values(store: Store, table: str, types: dict[str, str]) -> str:
    """Return the values of a table in SQL, by the types of its columns. Raises ReadError for others."""
    columns = [each for each in TABLES[table] if each.name in types and each.type in _TYPES]
    for each in columns:
        if types[each.name] != _TYPES[each.type]:
            reason = f"is damaged: column {each.name} of {table} has the type {types[each.name][:100]}"
            raise ReadError(store.path, reason)
    checked = ", ".join(f"{_check_sql(each)} AS {each.name}" for each in columns)
    return f"* REPLACE ({checked})" if checked else "*"


def _check_sql(column: Column) -> str:
    """Return the value of a column in SQL, which fails if it is missing."""
    name = column.name
    wrong = [] if column.is_optional else [f"{name} IS NULL"]
    if _TYPES[column.type].endswith("[]"):
        wrong.append(f"list_count({name}) < len({name})")
    problem = f"THEN error('{name} has no value')"
    return f"CASE WHEN {' OR '.join(wrong)} {problem} ELSE {name} END" if wrong else name


def _make_views(store: Store, connection: Any) -> None:
    for table in TABLES:
        if store.files(table):
            pattern = os.path.join(glob.escape(os.path.join(store.path, table)), "*.parquet")
            stored = connection.read_parquet(pattern)
            stored.create_view(f"stored_{table}")
            types = dict(zip(stored.columns, map(str, stored.types), strict=True))
            values = _check_values(store, table, types)
            connection.execute(f"CREATE VIEW all_{table} AS SELECT {values} FROM stored_{table}")
        else:
            connection.from_arrow(arrow_schema(table).empty_table()).create_view(f"all_{table}")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"CREATE VIEW {RUNS} AS {_LATEST}")
    for table in TABLES:
        if table != RUNS:
            connection.execute(f"CREATE VIEW {table} AS {_ROWS.format(table)}")
