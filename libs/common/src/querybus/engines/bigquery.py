"""BigQuery: the facts of its SQL.

Sources: BigQuery's manual. Functions: "Function reference (alphabetical)". Names: "Introduction to INFORMATION_SCHEMA" and the meta-tables
__TABLES__ and __TABLES_SUMMARY__.
"""

from __future__ import annotations

import re
from typing import Final

from querybus.engines.dialect import Dialect
from querybus.engines.record import DoubleQuoted, Dual, Engine, Grouping, InOperand, lower, names

BIGQUERY: Final = Engine(
    dialect=Dialect.BIGQUERY,
    title="BigQuery",
    telemetry_name="bigquery",
    is_file=False,
    port=None,
    version_query=None,
    credential_sources="",
    lists_unreadable_tables=False,
    has_database_as_host=True,
    takes_readers=False,
    writes_alone=False,
    fold=lower,
    quoted_is_exact=False,
    quote="`",
    double_quoted=DoubleQuoted.TEXT,
    default_schema=None,
    table_case_counts=True,
    has_structs=True,
    pseudo_columns=names("_table_suffix _partitiontime _partitiondate"),
    system_schemas=names("information_schema"),
    system_names=re.compile(r"__tables|information_schema"),
    functions=names(
        """
        acosh any_value approx_count_distinct approx_quantiles approx_top_count approx_top_sum array array_agg
        array_concat array_concat_agg array_first array_includes array_is_distinct array_last array_length array_max
        array_min array_reverse array_slice array_to_string ascii asinh atanh bit_and bit_count bit_or bit_xor bool
        bool_array byte_length cbrt chr code_points_to_bytes code_points_to_string collate contains_substr corr cosh
        countif covar_pop covar_samp current_date current_datetime current_time current_timestamp date date_add
        date_bucket date_diff date_from_unix_date date_sub date_trunc datetime datetime_add datetime_bucket
        datetime_diff datetime_sub datetime_trunc div edit_distance ends_with extract farm_fingerprint float64 format
        format_date format_datetime format_time format_timestamp from_base32 from_base64 from_hex generate_array
        generate_date_array generate_timestamp_array generate_uuid ieee_divide initcap int64 is_inf is_nan json_array
        json_extract json_extract_array json_extract_scalar json_extract_string_array json_keys json_object json_query
        json_query_array json_remove json_set json_strip_nulls json_type json_value json_value_array justify_days
        justify_hours justify_interval last_day lax_bool lax_float64 lax_int64 lax_string logical_and logical_or lpad
        make_interval max_by md5 min_by normalize normalize_and_casefold offset ordinal parse_bignumeric parse_date
        parse_datetime parse_json parse_numeric parse_time parse_timestamp percentile_cont percentile_disc range_bucket
        range_contains regexp_contains regexp_extract regexp_extract_all regexp_instr regexp_replace regexp_substr
        repeat rpad safe_add safe_cast safe_convert_bytes_to_string safe_divide safe_multiply safe_negate safe_offset
        safe_ordinal safe_subtract sha1 sha256 sha512 sinh soundex split st_area st_asgeojson st_astext st_centroid
        st_contains st_distance st_dwithin st_geogfromtext st_geogpoint st_intersects st_length st_within st_x st_y
        starts_with string string_agg strpos struct tanh time time_add time_diff time_sub time_trunc timestamp
        timestamp_add timestamp_bucket timestamp_diff timestamp_micros timestamp_millis timestamp_seconds timestamp_sub
        timestamp_trunc to_base32 to_base64 to_code_points to_hex to_json to_json_string unicode unix_date unix_micros
        unix_millis unix_seconds unnest
        """
    ),
    table_functions=names("unnest"),
    table_function_columns={},
    function_schemas=names("hll_count net safe"),
    qualified_functions=names(
        """
        hll_count.extract hll_count.init hll_count.merge hll_count.merge_partial net.host net.ip_from_string
        net.ip_to_string net.ip_trunc net.ipv4_from_int64 net.ipv4_to_int64 net.public_suffix net.reg_domain
        net.safe_ip_from_string
        """
    ),
    bare_calls=frozenset(),
    aggregate_combinators=(),
    function_spellings={},
    functions_as_written=(),
    prefix_functions={},
    calls_by_attribute=False,
    calls_by_bare_name=False,
    calls_without_brackets=False,
    package_prefixes=(),
    explain_forms=(),
    plan_form=None,
    explains_by_preparing=False,
    describe_form=None,
    describes_queries=False,
    shows_columns=False,
    executes_comments=False,
    assigns_variables=False,
    escapes_by_backslash=True,
    integer_type="INT64",
    any_word_is_type=False,
    reads_files_by_name=False,
    in_operand=InOperand.NEVER_TABLE,
    has_wildcard_tables=True,
    recurses_without_word=False,
    has_databases_above_schemas=True,
    calls_methods=False,
    types_unknown_to_parser=frozenset(),
    casts_interval_texts=False,
    aliases_everywhere=False,
    grouping=Grouping.REFUSES,
    groups_by_outputs=True,
    dual=Dual.NONE,
    aliases_derived_tables=True,
    has_quantifiers=True,
    brackets_set_operands=True,
    refuses_foreign_forms=False,
    regexp_is_operator=False,
    decimal_type=None,
    hex_function=None,
    has_hex_numbers=False,
    casts_null_to_types=True,
    date_literal="DATE '{}'",
    dates_are_text=False,
    text_ignores_case=False,
    pipes_join_text=True,
    divides_whole=False,
    by_zero="error",
    has_column_affinity=False,
    takes_first_row=False,
    chooses_ambiguous_columns=False,
    converts_to_compare=False,
    tries_patterns_on_statistics=False,
    rewrites=None,
)
