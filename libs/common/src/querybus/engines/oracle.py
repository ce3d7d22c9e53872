"""Oracle: the facts of its SQL.

Sources: Oracle's manuals. Functions: "Functions" in the SQL Language Reference. Names: "Static Data Dictionary Views" and "Dynamic
Performance (V$) Views" in the Database Reference, "Predefined Schema User Accounts" in the Security Guide.
"""

from __future__ import annotations

import re
from typing import Final

from querybus.engines.dialect import Dialect
from querybus.engines.record import DoubleQuoted, Dual, Engine, Grouping, InOperand, names, upper

ORACLE: Final = Engine(
    dialect=Dialect.ORACLE,
    title="Oracle",
    telemetry_name="oracle.db",
    is_file=False,
    port=1521,
    version_query="SELECT version, user FROM product_component_version WHERE ROWNUM = 1",
    credential_sources="",
    lists_unreadable_tables=False,
    has_database_as_host=False,
    takes_readers=False,
    writes_alone=False,
    fold=upper,
    quoted_is_exact=True,
    quote='"',
    double_quoted=DoubleQuoted.NAME,
    default_schema=None,
    table_case_counts=False,
    has_structs=False,
    pseudo_columns=names("ROWNUM ROWID LEVEL CONNECT_BY_ISLEAF CONNECT_BY_ISCYCLE ORA_ROWSCN"),
    system_schemas=names(
        "sys system ctxsys mdsys xdb dbsnmp outln wmsys appqossys audsys dvf dvsys gsmadmin_internal lbacsys ojvmsys olapsys orddata ordplugins ordsys si_informtn_schema"
    ),
    system_names=re.compile(r"(g?v_?\$|x\$|dba_|cdb_|all_|user_)|.*\$$|(dict|dictionary|cat|tab|obj)$"),
    functions=names(
        """
        add_months any_value approx_count approx_count_distinct approx_median approx_percentile approx_rank approx_sum
        ascii asciistr avg bin_to_num bit_and_agg bit_or_agg bitand boolean_and_agg boolean_or_agg cast chr compose
        concat connect_by_root convert corr corr_k corr_s cosh covar_pop covar_samp current_date current_timestamp
        decode decompose extract first from_tz greatest group_id grouping_id hextoraw initcap instrb instrc json_array
        json_arrayagg json_exists json_mergepatch json_object json_objectagg json_query json_scalar json_serialize
        json_value last last_day lengthb lengthc listagg lnnvl localtimestamp lpad median months_between nanvl new_time
        next_day nls_initcap nls_lower nls_upper nlssort numtodsinterval numtoyminterval nvl nvl2 ora_hash
        percentile_cont percentile_disc ratio_to_report rawtohex regexp_count regexp_instr regexp_like regexp_replace
        regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
        remainder round rpad sinh soundex standard_hash stats_mode substrb substrc sys_connect_by_path sys_extract_utc
        sysdate systimestamp tanh to_binary_double to_binary_float to_char to_clob to_date to_dsinterval to_multi_byte
        to_nchar to_number to_single_byte to_timestamp to_timestamp_tz to_yminterval tz_offset unistr
        validate_conversion vsize width_bucket wm_concat
        """
    ),
    table_functions=names("json_table"),
    table_function_columns={},
    function_schemas=frozenset(),
    qualified_functions=frozenset(),
    bare_calls=names("ora_invoking_user ora_invoking_userid uid user"),
    aggregate_combinators=(),
    function_spellings={},
    functions_as_written=(),
    prefix_functions={},
    calls_by_attribute=False,
    calls_by_bare_name=False,
    calls_without_brackets=True,
    package_prefixes=("utl_", "dbms_", "ctx", "htp", "owa", "sys"),
    explain_forms=(),
    plan_form=None,
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
    recurses_without_word=True,
    has_databases_above_schemas=False,
    calls_methods=False,
    types_unknown_to_parser=frozenset(),
    casts_interval_texts=False,
    aliases_everywhere=False,
    grouping=Grouping.REFUSES,
    groups_by_outputs=False,
    dual=Dual.NEEDED,
    aliases_derived_tables=False,
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
