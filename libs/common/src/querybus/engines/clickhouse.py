"""ClickHouse: the facts of its SQL.

Sources: ClickHouse's manual. Functions: "Regular Functions", "Aggregate Functions" and "Window Functions". Names: "System Tables"
and "INFORMATION_SCHEMA". Both are databases, so that no table of the engine's own is read without one; temporary tables
stand in `_temporary_and_external_tables`.
"""

from __future__ import annotations

from typing import Final

from querybus.engines.dialect import Dialect
from querybus.engines.record import DoubleQuoted, Dual, Engine, Grouping, InOperand, keep_case, names

CLICKHOUSE: Final = Engine(
    dialect=Dialect.CLICKHOUSE,
    title="ClickHouse",
    telemetry_name="clickhouse",
    is_file=False,
    port=8123,
    version_query="SELECT version(), currentUser()",
    credential_sources="",
    lists_unreadable_tables=False,
    has_database_as_host=False,
    takes_readers=False,
    writes_alone=False,
    fold=keep_case,
    quoted_is_exact=False,
    quote="`",
    double_quoted=DoubleQuoted.NAME,
    default_schema="default",
    table_case_counts=False,
    has_structs=True,
    pseudo_columns=names("_part _partition_id _part_index _table _database _sample_factor"),
    system_schemas=names("information_schema system _temporary_and_external_tables"),
    system_names=None,
    functions=names(
        """
        accuratecast accuratecastornull acosh adddays addhours addminutes addmonths addquarters addseconds addweeks
        addyears age and any any_value anyheavy anyif anylast appendtrailingcharifabsent approx_top_k argmax argmin
        array array_agg array_concat_agg array_remove array_to_string arrayall arrayavg arraycompact arrayconcat
        arraycount arraycumsum arraydifference arraydistinct arrayelement arrayenumerate arrayenumerateuniq arrayexcept
        arrayexists arrayfill arrayfilter arrayfirst arrayfirstindex arrayflatten arrayfold arrayintersect
        arrayjaccardindex arrayjoin arraylast arraylastindex arraymap arraymax arraymin arraypopback arraypopfront
        arrayproduct arraypushback arraypushfront arrayreduce arrayreverse arrayreversesort arrayrotateleft
        arrayrotateright arrayshiftleft arrayshiftright arraysimilarity arrayslice arraysort arraysplit
        arraystringconcat arraysum arrayuniq arrayzip ascii asinh assumenotnull atanh avgif avgweighted bar base58encode
        base64decode base64encode bin bitand bitcount bitnot bitor bitshiftleft bitshiftright bittest bitxor
        boundingratio cbrt ceiling cityhash64 coalesce concatwithseparator corr corrstable cosh cosinedistance count
        countequal countif countmatches countsubstrings countsubstringscaseinsensitive covar_pop covar_samp covarpop
        covarsamp cramersv crc32 current_date current_timestamp cutquerystring cuttofirstsignificantsubdomain
        dameraulevenshteindistance date date_add date_bin date_diff date_format date_sub date_trunc dateadd datediff
        datename datesub datetrunc day dayofmonth dayofweek dayofyear decodeurlcomponent decodexmlcomponent deltasum
        domain domainwithoutwww editdistance empty emptyarraytosingle encodexmlcomponent endswith entropy equals
        exponentialmovingaverage exponentialtimedecayedavg extract extractall extractallgroups extracttextfromhtml
        extracturlparameter extracturlparameters farmfingerprint64 farmhash64 first_value firstsignificantsubdomain
        flatten format formatdatetime formatreadabledecimalsize formatreadablequantity formatreadablesize
        formatreadabletimedelta fragment from_base64 fromunixtimestamp fromunixtimestamp64milli gcd generateuuidv4
        greatcircledistance greater greaterorequals greatest group_concat grouparray grouparrayinsertat grouparraylast
        grouparraymovingavg grouparraymovingsum grouparraysample grouparraysorted groupbitand groupbitmap groupbitor
        groupbitxor groupconcat groupuniqarray groupuniqarrayarray halfmd5 has hasall hasany hassubsequence hassubstr
        hastoken hex histogram hour identity if ifnotfinite ifnull ignore ilike indexof initcap intdiv intdivorzero
        interval ipv4numtostring ipv4stringtonum isfinite isinfinite isipv4string isipv6string isnan isnotnull isnull
        isvalidjson isvalidutf8 jarowinklersimilarity javahash json_exists json_query json_value jsonextract
        jsonextractarrayraw jsonextractbool jsonextractfloat jsonextractint jsonextractkeys jsonextractkeysandvalues
        jsonextractraw jsonextractstring jsonextractuint jsonhas jsonlength jsontype kurtpop kurtsamp lag laginframe
        last_day lcase lcm lead leadinframe least leftpad leftpadutf8 lengthutf8 less lessorequals levenshteindistance
        like localtime localtimestamp locate lower lowerutf8 lpad mannwhitneyutest map mapadd mapapply mapcontains
        mapfilter mapfromarrays mapkeys mapsubtract mapvalues match materialize max max2 max_by maxif maxmap md5 median
        min min2 min_by minif minmap minus minute modulo month monthname multifuzzymatchany multiif multimatchany
        multiply multisearchany murmurhash3_32 murmurhash3_64 negate neighbor ngramdistance ngramsearch not notempty
        notequals notlike now now64 nullif or overlay parsedatetime parsedatetime64besteffort parsedatetimebesteffort
        parsedatetimebesteffortornull parsedatetimebesteffortorzero path pathfull plus port position
        positioncaseinsensitive positionutf8 positivemodulo pow protocol quantile quantilebfloat16 quantiledeterministic
        quantileexact quantileexacthigh quantileexactlow quantileexactweighted quantiles quantiletdigest quantiletiming
        quantiletimingweighted quarter querystring rand rand32 rand64 randcanonical range rankcorr regexp_extract
        regexp_instr regexp_replace regexp_substr regexpextract regexpquotemeta regr_avgx regr_avgy regr_count
        regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace replaceall replaceone
        replaceregexpall replaceregexpone retention reverseutf8 rightpad rightpadutf8 round roundage roundbankers
        rounddown roundduration roundtoexp2 rownumberinallblocks rpad runningdifference second sequencecount
        sequencematch sequencenextnode sha1 sha224 sha256 sha512 simplejsonextractbool simplejsonextractfloat
        simplejsonextractint simplejsonextractraw simplejsonextractstring simplejsonextractuint simplejsonhas
        simplelinearregression sinh siphash64 skewpop skewsamp soundex space splitbychar splitbynonalpha splitbyregexp
        splitbystring splitbywhitespace startswith stddevpop stddevpopstable stddevsamp stddevsampstable str_to_date
        str_to_map string_agg studentttest subdate substring_index substringindex substringutf8 subtractdays
        subtracthours subtractminutes subtractmonths subtractquarters subtractseconds subtractweeks subtractyears sum
        sumif sumkahan summap sumwithoverflow tanh timeslot timeslots timestamp timestamp_diff timestampdiff to_base64
        to_days tobool todate todate32 todateornull todateorzero todatetime todatetime64 todatetimeornull
        todatetimeorzero today todayofmonth todayofweek todayofyear todecimal128 todecimal256 todecimal32 todecimal64
        tofixedstring tofloat32 tofloat32ornull tofloat32orzero tofloat64 tofloat64ornull tofloat64orzero tohour
        toint128 toint16 toint256 toint32 toint32ornull toint32orzero toint64 toint64ornull toint64orzero toint8
        tointervalday tointervalhour tointervalminute tointervalmonth tointervalquarter tointervalsecond tointervalweek
        tointervalyear toipv4 toipv6 toisoweek toisoyear tojsonstring tolastdayofmonth tolastdayofweek tolowcardinality
        tomillisecond tominute tomodifiedjulianday tomonday tomonth tonullable topk topkweighted topleveldomain
        toquarter torelativedaynum torelativehournum torelativeminutenum torelativemonthnum torelativequarternum
        torelativesecondnum torelativeweeknum torelativeyearnum tosecond tostartofday tostartoffifteenminutes
        tostartoffiveminute tostartoffiveminutes tostartofhour tostartofinterval tostartofisoyear tostartofmicrosecond
        tostartofmillisecond tostartofminute tostartofmonth tostartofquarter tostartofsecond tostartoftenminutes
        tostartofweek tostartofyear tostring totime totimezone totypename touint128 touint16 touint256 touint32
        touint32ornull touint32orzero touint64 touint64ornull touint64orzero touint8 tounixtimestamp
        tounixtimestamp64milli touuid touuidornull toweek toyear toyearweek toyyyymm toyyyymmdd toyyyymmddhhmmss
        transform trimboth trimleft trimright trybase64decode tuple tupleelement ucase unhex uniq uniqcombined
        uniqcombined64 uniqexact uniqhll12 uniqif uniqthetasketch unnest upper upperutf8 urlhierarchy urlpathhierarchy
        utc_timestamp utctimestamp varpop varpopstable varsamp varsampstable visitparamextractbool
        visitparamextractfloat visitparamextractint visitparamextractraw visitparamextractstring visitparamextractuint
        visitparamhas week welchttest width_bucket windowfunnel xor xxhash32 xxhash64 year yearweek yesterday
        """
    ),
    table_functions=names("generate_series generateseries numbers numbers_mt values zeros"),
    table_function_columns={"numbers": ("number",), "numbers_mt": ("number",)},
    function_schemas=frozenset(),
    qualified_functions=frozenset(),
    bare_calls=names("current_user"),
    aggregate_combinators=("if", "array", "map", "distinct", "ornull", "ordefault", "merge", "state", "foreach"),
    function_spellings={"rand": "rand32"},
    functions_as_written=(),
    prefix_functions={},
    calls_by_attribute=False,
    calls_by_bare_name=True,
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
    integer_type="Int64",
    any_word_is_type=False,
    reads_files_by_name=False,
    in_operand=InOperand.TABLE_IN_BRACKETS,
    has_wildcard_tables=False,
    recurses_without_word=False,
    has_databases_above_schemas=False,
    calls_methods=False,
    types_unknown_to_parser=frozenset(),
    casts_interval_texts=False,
    aliases_everywhere=True,
    grouping=Grouping.NOT_JUDGED,
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
    date_literal="toDate('{}')",
    dates_are_text=False,
    text_ignores_case=False,
    pipes_join_text=True,
    divides_whole=False,
    by_zero="infinity",
    has_column_affinity=False,
    takes_first_row=False,
    chooses_ambiguous_columns=True,
    converts_to_compare=True,
    tries_patterns_on_statistics=False,
    rewrites="clickhouse",
)
