"""DuckDB: the facts of its SQL.

Sources: DuckDB's manual. Functions: the pages under "SQL / Functions". Names: "DuckDB_% Metadata Functions" and "Information
Schema", and what `duckdb_views()` lists.
"""

from __future__ import annotations

import re
from typing import Final

from querybus.engines.dialect import Dialect
from querybus.engines.record import DoubleQuoted, Dual, Engine, Grouping, InOperand, ascii_lower, names

DUCKDB: Final = Engine(
    dialect=Dialect.DUCKDB,
    title="DuckDB",
    telemetry_name="duckdb",
    is_file=True,
    port=None,
    version_query="SELECT version(), ''",
    credential_sources="",
    lists_unreadable_tables=False,
    has_database_as_host=False,
    takes_readers=False,
    writes_alone=True,
    fold=ascii_lower,
    quoted_is_exact=False,
    quote='"',
    double_quoted=DoubleQuoted.NAME,
    default_schema="main",
    table_case_counts=False,
    has_structs=True,
    pseudo_columns=names("rowid"),
    system_schemas=names("information_schema pg_catalog system temp"),
    system_names=re.compile(r"sqlite_|pragma_|duckdb_|pg_"),
    functions=names(
        """
        acosh add age any_value approx_count_distinct approx_quantile approx_top_k apply arg_max arg_max_null arg_min
        arg_min_null argmax argmin array_agg array_aggregate array_append array_apply array_cat array_concat
        array_contains array_cosine_similarity array_cross_product array_distance array_distinct
        array_dot_product array_extract array_filter array_grade_up array_has array_has_all array_has_any
        array_indexof array_inner_product array_intersect array_length array_position array_prepend
        array_push_back array_push_front array_reduce array_reverse array_reverse_sort array_select array_slice
        array_sort array_to_string array_transform array_unique array_value array_where array_zip ascii asinh
        atanh bar base64 bin bit_and bit_count bit_or bit_position bit_xor bitstring_agg bool_and bool_or
        cardinality cbrt century chr columns combine contains corr cosh count_if count_star countif covar_pop
        covar_samp current_date current_localtime current_localtimestamp current_time current_timestamp
        damerau_levenshtein date_add date_bin date_diff date_part date_sub date_trunc datediff datepart datesub
        datetrunc day dayname dayofmonth dayofweek dayofyear decade decode divide editdist3 element_at encode
        ends_with entropy epoch epoch_ms epoch_ns epoch_us equi_width_bins even extract favg filter finalize
        first flatten format formatreadabledecimalsize formatreadablesize from_base64 from_binary from_hex
        from_json fsum gamma gcd gen_random_uuid generate_series generate_subscripts get_bit get_current_time
        get_current_timestamp greatest_common_divisor group_concat hamming hash hex histogram histogram_exact
        hour instr is_histogram_other_bin isfinite isinf isnan isodow isoyear jaccard jaro_similarity
        jaro_winkler_similarity json json_array json_array_length json_contains json_each json_exists
        json_extract json_extract_path json_extract_path_text json_extract_string json_group_array
        json_group_object json_group_structure json_keys json_merge_patch json_object json_pretty json_quote
        json_remove json_set json_strip_nulls json_structure json_transform json_transform_strict json_tree
        json_type json_valid json_value julian kahan_sum kurtosis kurtosis_pop last last_day lcase lcm
        least_common_multiple left_grapheme len length_grapheme levenshtein lgamma like_escape list list_aggr
        list_aggregate list_any_value list_append list_apply list_approx_count_distinct list_avg list_bit_and
        list_bit_or list_bit_xor list_bool_and list_bool_or list_cat list_concat list_contains
        list_cosine_distance list_cosine_similarity list_count list_distance list_distinct list_dot_product
        list_element list_entropy list_extract list_filter list_first list_grade_up list_has list_has_all
        list_has_any list_histogram list_indexof list_inner_product list_intersect list_kurtosis list_last
        list_mad list_max list_median list_min list_mode list_pack list_position list_prepend list_product
        list_reduce list_reverse list_reverse_sort list_select list_skewness list_slice list_sort
        list_stddev_pop list_stddev_samp list_string_agg list_sum list_transform list_unique list_value
        list_var_pop list_var_samp list_where list_zip listagg lpad mad make_date make_time make_timestamp
        make_timestamp_ms make_timestamp_ns make_timestamptz map map_concat map_contains map_contains_entry
        map_contains_value map_entries map_extract map_extract_value map_from_entries map_keys map_values max_by
        md5 md5_number mean median microsecond millennium millisecond min_by minute mismatches mode month
        monthname multiply nanosecond nextafter nfc_normalize now nullif ord overlay parse_dirname parse_dirpath
        parse_filename parse_path percentile_cont percentile_disc prefix printf product quantile quantile_cont
        quantile_disc quarter range reduce regexp_escape regexp_extract regexp_extract_all regexp_full_match
        regexp_matches regexp_replace regexp_split_to_array regr_avgx regr_avgy regr_count regr_intercept
        regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat reservoir_quantile right_grapheme round_even
        roundbankers row rpad second sem sha1 sha256 signbit sinh skewness split split_part starts_with
        str_split str_split_regex strftime string_agg string_split string_split_regex string_to_array
        strip_accents strlen strpos strptime struct_extract struct_insert struct_pack substring_grapheme
        subtract suffix sum_no_overflow sumkahan tanh time_bucket timetz_byte_comparable to_base to_base64
        to_binary to_centuries to_days to_decades to_hex to_hours to_json to_microseconds to_millennia
        to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years today
        transaction_timestamp try_strptime typeof ucase unbin unhex unicode union_extract union_tag union_value
        unnest unpivot_list url_decode url_encode uuid uuidv4 uuidv7 week weekday weekofyear xor year yearweek
        """
    ),
    table_functions=names("generate_series generate_subscripts json_each json_tree range unnest"),
    table_function_columns={},
    function_schemas=frozenset(),
    qualified_functions=frozenset(),
    bare_calls=names("current_catalog current_role current_schema current_user session_user user"),
    aggregate_combinators=(),
    function_spellings={"apply": "list_transform"},
    functions_as_written=(),
    prefix_functions={"@": "ABS"},
    calls_by_attribute=False,
    calls_by_bare_name=False,
    calls_without_brackets=False,
    package_prefixes=(),
    explain_forms=("EXPLAIN",),
    plan_form="EXPLAIN",
    explains_by_preparing=False,
    describe_form="DESCRIBE ",
    describes_queries=True,
    shows_columns=False,
    executes_comments=False,
    assigns_variables=False,
    escapes_by_backslash=False,
    integer_type="INTEGER",
    any_word_is_type=False,
    reads_files_by_name=True,
    in_operand=InOperand.NEVER_TABLE,
    has_wildcard_tables=False,
    recurses_without_word=False,
    has_databases_above_schemas=True,
    calls_methods=True,
    types_unknown_to_parser=frozenset(),
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
    hex_function=None,
    has_hex_numbers=False,
    casts_null_to_types=True,
    date_literal="DATE '{}'",
    dates_are_text=False,
    text_ignores_case=False,
    pipes_join_text=True,
    divides_whole=False,
    by_zero="infinity",
    has_column_affinity=False,
    takes_first_row=False,
    chooses_ambiguous_columns=False,
    converts_to_compare=True,
    tries_patterns_on_statistics=False,
    rewrites="duckdb",
)
