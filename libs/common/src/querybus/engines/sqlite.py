"""SQLite: the facts of its SQL.

Sources: SQLite's manual. Functions: "Built-In Scalar SQL Functions", "Built-in Aggregate Functions", "Date And Time Functions",
"Built-In Mathematical SQL Functions", "JSON Functions And Operators", "The Percentile Extension", and the auxiliary functions of
FTS5 and FTS4. Names: "The Schema Table", "PRAGMA functions" and "The DBSTAT Virtual Table".
"""

from __future__ import annotations

import re
from typing import Final

from querybus.engines.dialect import Dialect
from querybus.engines.record import DoubleQuoted, Dual, Engine, Grouping, InOperand, ascii_lower, names

SQLITE: Final = Engine(
    dialect=Dialect.SQLITE,
    title="SQLite",
    telemetry_name="sqlite",
    is_file=True,
    port=None,
    version_query="SELECT sqlite_version(), ''",
    credential_sources="",
    lists_unreadable_tables=False,
    has_database_as_host=False,
    takes_readers=False,
    writes_alone=False,
    fold=ascii_lower,
    quoted_is_exact=False,
    quote='"',
    double_quoted=DoubleQuoted.NAME_OR_TEXT,
    default_schema="main",
    table_case_counts=False,
    has_structs=False,
    pseudo_columns=names("rowid _rowid_ oid"),
    system_schemas=names("sqlite_temp temp"),
    system_names=re.compile(r"sqlite_|pragma_|(dbstat|bytecode|tables_used|completion|fsdir|zipfile|csv)$"),
    functions=names(
        """
        acosh asinh atanh bm25 char cosh current_date current_time current_timestamp date datetime format glob
        group_concat hex highlight ifnull iif json json_array json_array_length json_error_position json_extract
        json_group_array json_group_object json_insert json_object json_patch json_pretty json_quote json_remove
        json_replace json_set json_type json_valid jsonb jsonb_array jsonb_extract jsonb_group_array
        jsonb_group_object jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set julianday
        like likelihood likely matchinfo median offsets percentile percentile_cont percentile_disc printf quote
        randomblob sinh snippet soundex strftime string_agg substring tanh time timediff total typeof unhex
        unicode unistr unistr_quote unixepoch unlikely zeroblob
        """
    ),
    table_functions=names("generate_series json_each json_tree"),
    table_function_columns=dict.fromkeys(
        ("json_each", "json_tree"), ("key", "value", "type", "atom", "id", "parent", "fullkey", "path", "json", "root")
    ),
    function_schemas=frozenset(),
    qualified_functions=frozenset(),
    bare_calls=frozenset(),
    aggregate_combinators=(),
    function_spellings={},
    functions_as_written=("MOD",),
    prefix_functions={},
    calls_by_attribute=False,
    calls_by_bare_name=False,
    calls_without_brackets=False,
    package_prefixes=(),
    explain_forms=("EXPLAIN QUERY PLAN", "EXPLAIN"),
    plan_form="EXPLAIN QUERY PLAN",
    explains_by_preparing=True,
    describe_form=None,
    describes_queries=False,
    shows_columns=False,
    executes_comments=False,
    assigns_variables=False,
    escapes_by_backslash=False,
    integer_type="INTEGER",
    any_word_is_type=True,
    reads_files_by_name=False,
    in_operand=InOperand.TABLE,
    has_wildcard_tables=False,
    recurses_without_word=True,
    has_databases_above_schemas=False,
    calls_methods=False,
    types_unknown_to_parser=frozenset(),
    casts_interval_texts=False,
    aliases_everywhere=False,
    grouping=Grouping.TAKES_ANY_ROW,
    groups_by_outputs=False,
    dual=Dual.NONE,
    aliases_derived_tables=True,
    has_quantifiers=False,
    brackets_set_operands=False,
    refuses_foreign_forms=True,
    regexp_is_operator=False,
    decimal_type="NUMERIC",
    hex_function=None,
    has_hex_numbers=False,
    casts_null_to_types=True,
    date_literal="'{}'",
    dates_are_text=True,
    text_ignores_case=False,
    pipes_join_text=True,
    divides_whole=True,
    by_zero="nothing",
    has_column_affinity=True,
    takes_first_row=True,
    chooses_ambiguous_columns=False,
    converts_to_compare=False,
    tries_patterns_on_statistics=False,
    rewrites="sqlite",
)
