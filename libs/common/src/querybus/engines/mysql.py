"""MySQL and MariaDB: the facts of their SQL.

Sources: the MySQL Reference Manual. Functions: the chapter "Functions and Operators", and MariaDB's "Built-in Functions". Names:
"The mysql System Schema", "INFORMATION_SCHEMA Tables", "MySQL Performance Schema", "MySQL sys Schema" and "ndbinfo: The NDB
Cluster Information Database". All of these are schemas, so that no table of the engine's own is read without one.
"""

from __future__ import annotations

from typing import Final

from querybus.engines.dialect import Dialect
from querybus.engines.record import DoubleQuoted, Dual, Engine, Grouping, InOperand, lower, names

MYSQL: Final = Engine(
    dialect=Dialect.MYSQL,
    title="MySQL",
    telemetry_name="mysql",
    is_file=False,
    port=3306,
    version_query="SELECT VERSION(), CURRENT_USER()",
    credential_sources="",
    lists_unreadable_tables=False,
    has_database_as_host=False,
    takes_readers=False,
    writes_alone=False,
    fold=lower,
    quoted_is_exact=False,
    quote="`",
    double_quoted=DoubleQuoted.TEXT,
    default_schema=None,
    table_case_counts=True,
    has_structs=False,
    pseudo_columns=frozenset(),
    system_schemas=names("information_schema mysql performance_schema sys ndbinfo"),
    system_names=None,
    functions=names(
        """
        add_months adddate addtime against any_value ascii bin bit_and bit_count bit_length bit_or bit_xor char chr concat_ws
        conv convert_tz crc32 curdate current_date current_time current_timestamp curtime date date_add date_format
        date_sub datediff day dayname dayofmonth dayofweek dayofyear decode elt encode export_set extract field
        find_in_set format from_base64 from_days from_unixtime get_format group_concat hex hour inet6_aton inet6_ntoa
        inet_aton inet_ntoa insert interval is_ipv4 is_ipv6 is_uuid isnull json_array json_array_append
        json_array_insert json_arrayagg json_compact json_contains json_contains_path json_depth json_detailed
        json_exists json_extract json_insert json_keys json_length json_loose json_merge_patch json_merge_preserve
        json_object json_objectagg json_overlaps json_pretty json_query json_quote json_remove json_replace json_search
        json_set json_storage_size json_type json_unquote json_valid json_value last_day lcase localtime localtimestamp
        locate lpad make_set makedate maketime match md5 median microsecond mid minute month monthname natural_sort_key
        now nvl nvl2 oct ord percentile_cont percentile_disc period_add period_diff quarter quote regexp_instr
        regexp_like regexp_replace regexp_substr repeat row rpad sec_to_time second sha sha1 sha2 soundex space std
        str_to_date strcmp subdate substring_index subtime sysdate time time_format time_to_sec timediff timestamp
        timestampadd timestampdiff to_base64 to_char to_days to_seconds truncate ucase unhex unix_timestamp utc_date
        utc_time utc_timestamp uuid week weekday weekofyear weight_string year yearweek
        """
    ),
    table_functions=names("json_table"),
    table_function_columns={},
    function_schemas=frozenset(),
    qualified_functions=frozenset(),
    bare_calls=names("current_role current_user"),
    aggregate_combinators=(),
    function_spellings={},
    functions_as_written=(),
    prefix_functions={},
    calls_by_attribute=False,
    calls_by_bare_name=False,
    calls_without_brackets=False,
    package_prefixes=(),
    explain_forms=("EXPLAIN",),
    plan_form="EXPLAIN",
    explains_by_preparing=False,
    describe_form="DESCRIBE ",
    describes_queries=False,
    shows_columns=True,
    executes_comments=True,
    assigns_variables=True,
    escapes_by_backslash=True,
    integer_type="SIGNED",
    any_word_is_type=False,
    reads_files_by_name=False,
    in_operand=InOperand.NEVER_TABLE,
    has_wildcard_tables=False,
    recurses_without_word=False,
    has_databases_above_schemas=False,
    calls_methods=False,
    types_unknown_to_parser=frozenset(),
    casts_interval_texts=False,
    aliases_everywhere=False,
    grouping=Grouping.TAKES_ANY_ROW,
    groups_by_outputs=False,
    dual=Dual.OPTIONAL,
    aliases_derived_tables=True,
    has_quantifiers=True,
    brackets_set_operands=True,
    refuses_foreign_forms=False,
    regexp_is_operator=True,
    decimal_type=None,
    hex_function=None,
    has_hex_numbers=True,
    casts_null_to_types=False,
    date_literal="DATE '{}'",
    dates_are_text=False,
    text_ignores_case=True,
    pipes_join_text=False,
    divides_whole=False,
    by_zero="nothing",
    has_column_affinity=False,
    takes_first_row=False,
    chooses_ambiguous_columns=False,
    converts_to_compare=True,
    tries_patterns_on_statistics=False,
    rewrites="mysql",
)
