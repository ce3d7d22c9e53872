"""PostgreSQL: the facts of its SQL.

Sources: PostgreSQL's manual. Functions: the chapter "Functions and Operators", and the extensions fuzzystrmatch, pg_trgm and
unaccent. Names: the chapters "System Catalogs" and "System Views", all of which begin with pg_, and "The Information Schema".
"""

from __future__ import annotations

import re
from typing import Final

from querybus.engines.dialect import Dialect
from querybus.engines.record import DoubleQuoted, Dual, Engine, Grouping, InOperand, ascii_lower, names

POSTGRESQL: Final = Engine(
    dialect=Dialect.POSTGRESQL,
    title="PostgreSQL",
    telemetry_name="postgresql",
    is_file=False,
    port=5432,
    version_query="SELECT current_setting('server_version'), current_user::text",
    credential_sources="PGPASSWORD, PGPASSFILE or ~/.pgpass",
    lists_unreadable_tables=True,
    has_database_as_host=False,
    takes_readers=True,
    writes_alone=False,
    fold=ascii_lower,
    quoted_is_exact=True,
    quote='"',
    double_quoted=DoubleQuoted.NAME,
    default_schema="public",
    table_case_counts=False,
    has_structs=False,
    pseudo_columns=names("ctid xmin xmax cmin cmax tableoid"),
    system_schemas=names("information_schema pg_catalog pg_toast"),
    system_names=re.compile(r"pg_"),
    functions=names(
        """
        acosd acosh age any_value array_agg array_append array_cat array_dims array_length array_lower array_ndims
        array_position array_positions array_prepend array_remove array_replace array_reverse array_sort array_to_json
        array_to_string array_upper ascii asind asinh atan2d atand atanh bit_and bit_count bit_or bit_xor bool bool_and
        bool_or box bpchar btrim cardinality cbrt chr circle clock_timestamp convert_from convert_to corr cosd cosh cotd
        covar_pop covar_samp crc32 date date_add date_bin date_part date_subtract date_trunc daterange decode difference
        div dmetaphone encode erf erfc every extract float4 float8 format gcd gen_random_uuid generate_series
        generate_subscripts get_bit get_byte host initcap int2 int4 int4range int8 int8range interval isempty isfinite
        json json_agg json_array json_array_elements json_array_elements_text json_array_length json_build_array
        json_build_object json_each json_each_text json_exists json_extract_path json_extract_path_text json_object
        json_object_agg json_object_keys json_query json_strip_nulls json_to_record json_to_recordset json_typeof
        json_value jsonb jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array
        jsonb_build_object jsonb_contains jsonb_each jsonb_each_text jsonb_exists jsonb_extract_path
        jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg jsonb_object_keys jsonb_path_exists
        jsonb_path_match jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_pretty jsonb_set
        jsonb_set_lax jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof justify_days justify_hours
        justify_interval lcm levenshtein like lower_inc lower_inf lpad make_date make_interval make_time make_timestamp
        make_timestamptz md5 metaphone min_scale mode normalize now num_nonnulls num_nulls numeric numrange overlay
        parse_ident percentile_cont percentile_disc phraseto_tsquery plainto_tsquery point quote_ident quote_literal
        quote_nullable range_agg range_intersect_agg range_merge regexp_count regexp_instr regexp_like regexp_match
        regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr regr_avgx regr_avgy
        regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat row row_to_json rpad scale
        setweight sha224 sha256 sha384 sha512 similarity sind sinh soundex split_part starts_with statement_timestamp
        string_agg string_to_array string_to_table strip strpos tand tanh text time timeofday timestamp timestamptz
        to_ascii to_char to_date to_hex to_json to_jsonb to_number to_timestamp to_tsquery to_tsvector
        transaction_timestamp trim_array trim_scale trunc ts_headline ts_rank ts_rank_cd tsrange tstzrange unaccent
        unistr unnest upper_inc upper_inf varchar websearch_to_tsquery width_bucket word_similarity
        """
    ),
    table_functions=names(
        """
        generate_series generate_subscripts json_array_elements json_array_elements_text json_each json_each_text
        json_object_keys json_to_record json_to_recordset jsonb_array_elements jsonb_array_elements_text jsonb_each
        jsonb_each_text jsonb_object_keys jsonb_path_query jsonb_to_record jsonb_to_recordset regexp_matches
        regexp_split_to_table string_to_table unnest
        """
    ),
    table_function_columns=dict.fromkeys(
        ("json_each", "jsonb_each", "json_each_text", "jsonb_each_text"), ("key", "value")
    ),
    function_schemas=names("pg_catalog"),
    qualified_functions=frozenset(),
    bare_calls=names(
        """
        current_catalog current_role current_schema current_user session_user system_user user
        """
    ),
    aggregate_combinators=(),
    function_spellings={},
    functions_as_written=("DATE_PART",),
    prefix_functions={"@": "ABS", "|/": "SQRT", "||/": "CBRT"},
    calls_by_attribute=True,
    calls_by_bare_name=False,
    calls_without_brackets=False,
    package_prefixes=(),
    explain_forms=("EXPLAIN",),
    plan_form="EXPLAIN",
    explains_by_preparing=False,
    describe_form=None,
    describes_queries=False,
    shows_columns=False,
    executes_comments=False,
    assigns_variables=False,
    escapes_by_backslash=False,
    integer_type="INTEGER",
    any_word_is_type=False,
    reads_files_by_name=False,
    in_operand=InOperand.NEVER_TABLE,
    has_wildcard_tables=False,
    recurses_without_word=False,
    has_databases_above_schemas=True,
    calls_methods=False,
    types_unknown_to_parser=names('"char" box circle line lseg macaddr8 path pg_lsn point polygon tsquery tsvector'),
    casts_interval_texts=True,
    aliases_everywhere=False,
    grouping=Grouping.REFUSES,
    groups_by_outputs=False,
    dual=Dual.NONE,
    aliases_derived_tables=True,
    has_quantifiers=True,
    brackets_set_operands=True,
    refuses_foreign_forms=False,
    regexp_is_operator=False,
    decimal_type=None,
    hex_function="TO_HEX",
    has_hex_numbers=False,
    casts_null_to_types=True,
    date_literal="DATE '{}'",
    dates_are_text=False,
    text_ignores_case=False,
    pipes_join_text=True,
    divides_whole=True,
    by_zero="error",
    has_column_affinity=False,
    takes_first_row=False,
    chooses_ambiguous_columns=False,
    converts_to_compare=False,
    tries_patterns_on_statistics=True,
    rewrites="postgres",
)
