"""Snowflake: the facts of its SQL.

Sources: Snowflake's manual. Functions: "Function and stored procedure reference". Names: "Snowflake Information Schema" and "SNOWFLAKE
database" with its schemas. All of these are schemas, so that no view of the engine's own is read without one.
"""

from __future__ import annotations

from typing import Final

from querybus.engines.dialect import Dialect
from querybus.engines.record import DoubleQuoted, Dual, Engine, Grouping, InOperand, ascii_upper, names

SNOWFLAKE: Final = Engine(
    dialect=Dialect.SNOWFLAKE,
    title="Snowflake",
    telemetry_name="snowflake",
    is_file=False,
    port=None,
    version_query="SELECT CURRENT_VERSION(), CURRENT_ROLE()",
    credential_sources="",
    lists_unreadable_tables=False,
    has_database_as_host=False,
    takes_readers=False,
    writes_alone=False,
    fold=ascii_upper,
    quoted_is_exact=True,
    quote='"',
    double_quoted=DoubleQuoted.NAME,
    default_schema="PUBLIC",
    table_case_counts=False,
    has_structs=True,
    pseudo_columns=names("LEVEL"),
    system_schemas=names(
        "information_schema snowflake account_usage organization_usage reader_account_usage data_sharing_usage"
    ),
    system_names=None,
    functions=names(
        """
        any_value approx_count_distinct approx_percentile approx_top_k array_agg array_append array_cat array_compact
        array_construct array_construct_compact array_contains array_distinct array_except array_flatten
        array_generate_range array_insert array_intersection array_max array_min array_position array_prepend
        array_remove array_remove_at array_reverse array_size array_slice array_sort array_sum array_to_string
        array_union_agg array_unique_agg arrays_overlap arrays_to_object arrays_zip as_array as_boolean as_char as_date
        as_decimal as_double as_integer as_number as_object as_real as_time as_varchar ascii base64_decode_string
        base64_encode bitand bitand_agg bitnot bitor bitor_agg bitshiftleft bitshiftright bitxor bitxor_agg booland
        booland_agg boolnot boolor boolor_agg boolxor boolxor_agg cbrt charindex chr collate conditional_change_event
        conditional_true_event contains convert_timezone corr cosh count_if covar_pop covar_samp current_date
        current_time current_timestamp date date_from_parts date_part date_trunc dateadd datediff datefromparts day
        dayname dayofmonth dayofweek dayofweekiso dayofyear decode div0 div0null editdistance endswith equal_null
        flatten generator get get_path grouping_id hash hash_agg haversine hex_decode_string hex_encode hll hll_estimate
        hour iff ilike initcap insert is_array is_boolean is_char is_date is_decimal is_double is_integer is_null_value
        is_object is_real is_time is_timestamp_ntz is_varchar jaccard_similarity jarowinkler_similarity kurtosis
        last_day len like_all like_any listagg localtime localtimestamp lpad max_by md5 md5_hex md5_number_lower64
        median min_by minhash minhash_combine minute mode month monthname months_between next_day nullifzero nvl nvl2
        object_agg object_construct object_construct_keep_null object_delete object_insert object_keys object_pick
        parse_json parse_url percentile_cont percentile_disc position previous_day quarter ratio_to_report regexp
        regexp_count regexp_instr regexp_like regexp_replace regexp_substr regexp_substr_all regr_avgx regr_avgy
        regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy regr_valx regr_valy repeat rlike rpad
        rtrimmed_length second sha1 sha1_hex sha2 sha2_hex sinh skew soundex space split split_part split_to_table
        square startswith strtok strtok_split_to_table strtok_to_array sysdate tanh time time_from_parts time_slice
        timeadd timediff timestamp_from_parts timestamp_ltz_from_parts timestamp_ntz_from_parts timestamp_tz_from_parts
        timestampadd timestampdiff to_array to_binary to_boolean to_char to_date to_decimal to_double to_geography
        to_json to_number to_numeric to_object to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_timestamp_tz
        to_varchar to_variant truncate try_base64_decode_string try_cast try_parse_json try_to_boolean try_to_date
        try_to_decimal try_to_double try_to_number try_to_numeric try_to_time try_to_timestamp try_to_timestamp_ntz
        typeof unicode week weekiso weekofyear width_bucket year yearofweek yearofweekiso zeroifnull
        """
    ),
    table_functions=names("flatten generator split_to_table strtok_split_to_table"),
    table_function_columns={},
    function_schemas=frozenset(),
    qualified_functions=frozenset(),
    bare_calls=names("current_account current_role current_user"),
    aggregate_combinators=(),
    function_spellings={},
    functions_as_written=(),
    prefix_functions={},
    calls_by_attribute=False,
    calls_by_bare_name=False,
    calls_without_brackets=False,
    package_prefixes=(),
    explain_forms=("EXPLAIN",),
    plan_form=None,
    explains_by_preparing=False,
    describe_form="DESCRIBE TABLE ",
    describes_queries=False,
    shows_columns=False,
    executes_comments=False,
    assigns_variables=False,
    escapes_by_backslash=True,
    integer_type="INTEGER",
    any_word_is_type=False,
    reads_files_by_name=False,
    in_operand=InOperand.NEVER_TABLE,
    has_wildcard_tables=False,
    recurses_without_word=True,
    has_databases_above_schemas=True,
    calls_methods=False,
    types_unknown_to_parser=frozenset(),
    casts_interval_texts=False,
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
    by_zero="error",
    has_column_affinity=False,
    takes_first_row=False,
    chooses_ambiguous_columns=False,
    converts_to_compare=True,
    tries_patterns_on_statistics=False,
    rewrites=None,
)
