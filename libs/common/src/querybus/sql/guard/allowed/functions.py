"""Which functions a query may call: read-only, without side effect, without reach outside the tables.

What the parser knows by type stands in KNOWN; everything else is listed by name per dialect. A function that is not
listed is refused, so a new release of the parser or of an engine opens nothing by itself. A database's own functions
come from the connection's policy, never from here.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from querybus.core.catalog import Dialect
from querybus.sql.guard.allowed.nodes import words

_KNOWN_NAMES: Final = """
And Or Xor Pow RegexpLike Acos Acosh Asin Asinh Atan Atanh Atan2 Cos Cosh Cot Coth Csc Csch Degrees Radians Sec Sech Sin
Sinh Tan Tanh CosineDistance DotProduct EuclideanDistance JarowinklerSimilarity ManhattanDistance Abs Cbrt Ceil Exp Floor
IsInf IsNan Ln Log Negative Nanvl Pi Rint Round Sign Sqrt Trunc SafeAdd SafeDivide SafeMultiply SafeNegate SafeSubtract
BitwiseAndAgg BitwiseCount BitwiseOrAgg BitwiseXorAgg BitmapBitPosition BitmapBucketNumber BitmapConstructAgg BitmapCount
BitmapOrAgg Booland Boolnot Boolor BoolxorAgg Getbit Ascii BitLength ByteLength Chr Concat ConcatWs Contains Elt EndsWith
Format Initcap IsAscii Left Length Levenshtein Lower MatchAgainst Normalize NumberToStr Overlay Pad Repeat Replace Reverse
Right RtrimmedLength Soundex SoundexP123 Space Split SplitPart Strtok StartsWith StrPosition StrToMap String Stuff
Substring SubstringIndex Translate Trim Unicode Upper Base64DecodeBinary Base64DecodeString Base64Encode
CodePointsToBytes CodePointsToString ConvertToCharset Decode Encode FromBase FromBase32 FromBase64 Hex HexDecodeString
LowerHex SafeConvertBytesToString ToBase32 ToBase64 ToBinary ToChar ToCodePoints ToDecfloat ToDouble ToNumber
TryBase64DecodeBinary TryBase64DecodeString TryHexDecodeBinary TryHexDecodeString TryToDecfloat Unhex RegexpCount
RegexpExtract RegexpExtractAll RegexpFullMatch RegexpILike RegexpInstr RegexpReplace RegexpSplit RegexpSubstr CityHash64
FarmFingerprint MD5 MD5Digest MD5NumberLower64 MD5NumberUpper64 SHA SHA1Digest SHA2 SHA2Digest ParseBignumeric
ParseNumeric ParseUrl CurrentDate CurrentDatetime CurrentTime CurrentTimestamp CurrentTimestampLTZ Localtime
Localtimestamp Systimestamp UtcDate UtcTime UtcTimestamp AddMonths DateAdd DateBin DateDiff DateSub DatetimeAdd
DatetimeDiff DatetimeSub MonthsBetween TimeAdd TimeDiff TimeSub TimestampAdd TimestampDiff TimestampSub TsOrDsAdd
TsOrDsDiff DatetimeTrunc DateTrunc TimestampTrunc TimeSlice TimeTrunc Day DayOfMonth DayOfWeek DayOfWeekIso DayOfYear
Dayname Extract GetExtract Hour Minute Month Monthname Quarter Second ToDays Week WeekOfYear Year YearOfWeek
YearOfWeekIso Date DateFromParts DateFromUnixDate Datetime GenerateDateArray GenerateTimestampArray JustifyDays
JustifyHours JustifyInterval LastDay MakeInterval NextDay PreviousDay Time TimeFromParts Timestamp TimestampFromParts
TimestampLtzFromParts TimestampTzFromParts ConvertTimezone DateStrToDate DateToDateStr DateToDi DiToDate
FromISO8601Timestamp FromISO8601Date FromISO8601TimestampNanos ParseDatetime ParseTime StrToDate StrToTime StrToUnix
TimeStrToDate TimeStrToTime TimeStrToUnix TimeToStr TimeToTimeStr TimeToUnix TsOrDiToDi TsOrDsToDate TsOrDsToDateStr
TsOrDsToDatetime TsOrDsToTime TsOrDsToTimestamp UnixDate UnixMicros UnixMillis UnixSeconds UnixToStr UnixToTime
UnixToTimeStr AnyValue ApproxDistinct ApproximateSimilarity ApproxPercentileAccumulate ApproxPercentileCombine
ApproxPercentileEstimate ApproxQuantile ApproxQuantiles ApproxTopK ApproxTopKAccumulate ApproxTopKCombine
ApproxTopKEstimate ApproxTopSum ArgMax ArgMin ArrayAgg ArrayConcatAgg ArrayUnionAgg ArrayUniqueAgg Avg Corr Count CountIf
CovarPop CovarSamp CumeDist DenseRank First FirstValue GroupConcat Grouping GroupingId HashAgg Hll Kurtosis Lag Last
LastValue Lead LogicalAnd LogicalOr Max Median Min Minhash MinhashCombine Mode Ntile NthValue ObjectAgg PercentileCont
PercentileDisc PercentRank Quantile Rank RegrAvgx RegrAvgy RegrCount RegrIntercept RegrR2 RegrSlope RegrSxx RegrSxy
RegrSyy RegrValx RegrValy RowNumber Skewness Stddev StddevPop StddevSamp Sum Variance VariancePop Array
ArrayConstructCompact List ToArray ArrayAppend ArrayCompact ArrayConcat ArrayFilter ArrayInsert ArrayPrepend ArrayRemove
ArrayRemoveAt ArrayReverse ArraySlice ArraySort ArrayAll ArrayAny ArrayContains ArrayContainsAll ArrayContainedBy
ArrayExcept ArrayIntersect ArrayOverlaps ArrayPosition ArrayDistinct ArrayFirst ArrayLast ArrayMax ArrayMin ArraySize
ArraySum ArraysZip ArrayToString Flatten StringToArray StrtokToArray Apply Reduce Transform GenerateSeries
ExplodingGenerateSeries Generator Explode SplitToTable StrtokSplitToTable Posexplode PosexplodeOuter Unnest Map MapCat
MapContainsKey MapDelete MapFromEntries MapInsert MapKeys MapPick MapSize StarMap ToMap VarMap Struct StructExtract
StDistance StPoint CheckJson JSONArray JSONArrayAgg JSONArrayAppend JSONArrayContains JSONArrayInsert JSONBContains
JSONBContainsAllTopKeys JSONBContainsTopKey JSONBContainsAnyTopKeys JSONBDeleteAtPath JSONBPathExists JSONBExists
JSONBExtract JSONBExtractScalar JSONBObjectAgg JSONBool JSONExists JSONExtract JSONExtractArray JSONExtractScalar
JSONFormat JSONKeys JSONObject JSONObjectAgg JSONRemove JSONSet JSONStripNulls StripNullValue JSONTable JSONType
JSONValueArray ObjectInsert ParseJSON Cast TryCast JSONCast CastToStrType Convert If Case Coalesce DecodeCase EqualNull
Greatest Least Nullif Nvl2 Try Collate ConnectByRoot Exists Float64 Int64 IsArray IsNullValue LaxBool LaxFloat64 LaxInt64
StandardHash Seq1 Seq2 Seq4 Seq8 FromJson JSONKeysAtDepth
LaxString ToBoolean ToVariant Host RegDomain NetFunc SafeFunc Rand Uuid RangeBucket WeekStart WidthBucket Typeof Uniform
GetIgnoreCase Columns
"""

KNOWN: Final[frozenset[type[exp.Expr]]] = frozenset(
    kind for name in _KNOWN_NAMES.split() if isinstance(kind := getattr(exp, name, None), type)
)
"""Functions that the parser knows by type; the same for every dialect."""

BY_NAME_KINDS: Final[tuple[type[exp.Expr], ...]] = (
    exp.Anonymous,
    exp.AnonymousAggFunc,
    exp.CombinedAggFunc,
    exp.ParameterizedAgg,
    exp.CombinedParameterizedAgg,
)
"""Calls that the parser knows by name only."""

_COMMON: Final = words(
    """abs acos asin atan atan2 avg cast ceil ceiling char char_length character_length coalesce concat concat_ws cos cot
    count cume_dist degrees dense_rank exp first_value floor greatest if ifnull iif instr lag last_value lead least left
    length ln log log10 log2 lower ltrim max min mod nth_value ntile nullif octet_length bit_length percent_rank pi position
    pow power radians rank replace reverse right round row_number rtrim sign sin sqrt substr substring sum tan translate
    trim trunc truncate upper var_pop var_samp variance stddev stddev_pop stddev_samp random rand grouping"""
)

_BY_DIALECT: Final[dict[Dialect, frozenset[str]]] = {
    Dialect.SQLITE: words(
        """char date datetime format glob group_concat hex iif ifnull json json_array json_array_length json_error_position
        json_extract json_group_array json_group_object json_insert json_object json_patch json_pretty json_quote
        json_remove json_replace json_set json_type json_valid jsonb jsonb_array jsonb_extract jsonb_group_array
        jsonb_group_object jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set julianday like likely
        likelihood median percentile percentile_cont percentile_disc printf quote soundex strftime
        string_agg substring time timediff total typeof unhex unicode unistr unistr_quote unixepoch unlikely zeroblob
        randomblob acosh asinh atanh cosh sinh tanh"""
    ),
    Dialect.DUCKDB: words(
        """age any_value approx_count_distinct approx_quantile arg_max arg_max_null arg_min arg_min_null array_agg
        array_aggregate array_append array_cat array_concat array_contains array_cosine_similarity array_cross_product
        array_distance array_distinct array_dot_product array_extract array_filter array_grade_up array_has array_has_all
        array_has_any array_indexof array_inner_product array_intersect array_length array_position array_prepend
        array_push_back array_push_front array_reduce array_reverse array_reverse_sort array_select
        array_slice array_sort array_to_string array_transform array_unique array_value array_where array_zip ascii bar
        base64 bin bit_and bit_count bit_or bit_position bit_xor bitstring_agg bool_and bool_or cardinality cbrt
        century chr combine contains corr cosh count_if count_star countif covar_pop covar_samp current_date current_time
        current_timestamp damerau_levenshtein date_add date_diff date_part date_sub date_trunc datediff datepart datesub
        datetrunc day dayname dayofmonth dayofweek dayofyear decade decode editdist3 element_at encode ends_with entropy
        epoch epoch_ms epoch_ns epoch_us equi_width_bins even extract favg finalize first flatten format
        formatreadabledecimalsize formatreadablesize from_base64 from_binary from_hex from_json fsum gamma gcd
        get_bit get_current_time get_current_timestamp greatest_common_divisor group_concat hamming hash hex histogram
        histogram_exact hour instr is_histogram_other_bin isfinite isinf isnan isodow isoyear jaccard jaro_similarity
        jaro_winkler_similarity json_array json_array_length json_contains json_each json_exists json_extract
        json_extract_path json_extract_path_text json_extract_string json_group_array json_group_object
        json_group_structure json_keys json_merge_patch json_object json_pretty json_quote json_structure json_tree
        json_transform json_transform_strict json_type json_valid json_value julian kahan_sum kurtosis kurtosis_pop last
        last_day lcase lcm least_common_multiple left_grapheme len length_grapheme levenshtein lgamma like_escape list
        list_aggr list_aggregate list_any_value list_append list_apply list_approx_count_distinct list_avg list_bit_and
        list_bit_or list_bit_xor list_bool_and list_bool_or list_cat list_concat list_contains list_cosine_similarity
        list_count list_distance list_distinct list_dot_product list_element list_entropy list_extract list_filter
        list_first list_grade_up list_has list_has_all list_has_any list_histogram list_indexof list_inner_product
        list_intersect list_kurtosis list_last list_mad list_max list_median list_min list_mode list_pack list_position
        list_prepend list_product list_reduce list_reverse list_reverse_sort list_select list_skewness list_slice list_sort
        list_stddev_pop list_stddev_samp list_string_agg list_sum list_transform list_unique list_value list_var_pop
        list_var_samp list_where list_zip listagg lpad mad make_date make_time make_timestamp make_timestamp_ms
        make_timestamp_ns make_timestamptz map map_concat map_contains map_contains_entry map_contains_value map_entries
        map_extract map_extract_value map_from_entries map_keys map_values max_by md5 md5_number mean median microsecond
        millennium millisecond min_by minute mismatches mode month monthname multiply nanosecond nextafter
        nfc_normalize now ord parse_dirname parse_dirpath parse_filename parse_path percentile_cont percentile_disc prefix
        printf product quantile quantile_cont quantile_disc quarter range regexp_escape regexp_extract regexp_extract_all
        regexp_full_match regexp_matches regexp_replace regexp_split_to_array regr_avgx regr_avgy regr_count regr_intercept
        regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat reservoir_quantile right_grapheme round_even roundbankers row
        rpad second sem sha1 sha256 signbit sinh skewness split split_part starts_with str_split str_split_regex strftime
        string_agg string_split string_split_regex string_to_array strip_accents strlen strpos strptime struct_extract
        struct_insert struct_pack substring_grapheme subtract suffix sumkahan sum_no_overflow tanh time_bucket timetz_byte_comparable
        to_base to_base64 to_binary to_centuries to_days to_decades to_hex to_hours to_json to_microseconds to_millennia
        to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years today transaction_timestamp
        try_strptime typeof ucase unbin unhex unicode union_extract union_tag union_value unnest unpivot_list
        url_decode url_encode uuid uuidv4 uuidv7 week weekday weekofyear xor year yearweek date_bin nullif add divide
        generate_series generate_subscripts gen_random_uuid isodow acosh asinh atanh current_localtime
        current_localtimestamp """
    ),
    Dialect.POSTGRESQL: words(
        """acosh age any_value array_agg array_append array_cat array_dims array_length array_lower array_ndims
        array_position array_positions array_prepend array_remove array_replace array_to_json array_to_string array_upper
        ascii asinh atanh bit_and bit_count bit_or bit_xor bool_and bool_or box btrim cardinality cbrt chr circle
        clock_timestamp convert_from convert_to corr cosh covar_pop covar_samp crc32 date date_bin date_part date_trunc
        date_add date_subtract daterange decode div encode every extract float8 format gcd gen_random_uuid get_bit
        get_byte initcap int4 int4range int8 int8range isempty isfinite json_agg json_array json_array_elements
        json_array_elements_text json_array_length json_build_array json_build_object json_each json_each_text json_exists
        json_extract_path json_extract_path_text json_object json_object_agg json_object_keys
        json_query json_strip_nulls json_to_record json_to_recordset json_typeof json_value jsonb_agg jsonb_array_elements
        jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text
        jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg jsonb_object_keys
        jsonb_path_exists jsonb_path_match jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_pretty
        jsonb_set jsonb_set_lax jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof justify_days
        justify_hours justify_interval lcm levenshtein lower_inc lower_inf lpad make_date make_interval make_time
        make_timestamp make_timestamptz md5 min_scale mode normalize now num_nonnulls num_nulls numeric numrange overlay
        parse_ident percentile_cont percentile_disc point quote_ident quote_literal quote_nullable range_agg
        range_intersect_agg range_merge regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace
        regexp_split_to_array regexp_split_to_table regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2
        regr_slope regr_sxx regr_sxy regr_syy repeat row row_to_json rpad scale setweight sha224 sha256
        sha384 sha512 similarity sinh split_part starts_with statement_timestamp string_agg string_to_array
        string_to_table strip strpos substring_index tanh text timeofday to_ascii to_char to_date to_hex to_json to_jsonb
        to_number to_timestamp to_tsquery to_tsvector transaction_timestamp trim_array trim_scale trunc ts_headline ts_rank
        ts_rank_cd tsrange tstzrange plainto_tsquery phraseto_tsquery websearch_to_tsquery unaccent unistr unnest upper_inc
        upper_inf width_bucket word_similarity generate_series generate_subscripts soundex metaphone
        dmetaphone difference erf erfc sind cosd tand cotd asind acosd atand atan2d isodow bool int2
        float4 json jsonb varchar bpchar timestamptz interval"""
    ),
    Dialect.MYSQL: words(
        """adddate addtime any_value ascii bin bit_and bit_count bit_or bit_xor char concat_ws conv convert_tz crc32 curdate
        current_date current_time current_timestamp curtime date date_add date_format date_sub datediff day dayname
        dayofmonth dayofweek dayofyear elt export_set field find_in_set format from_base64 from_days from_unixtime
        get_format group_concat hex hour inet6_aton inet6_ntoa inet_aton inet_ntoa insert interval is_ipv4 is_ipv6 is_uuid
        isnull json_array json_array_append json_array_insert json_arrayagg json_compact json_contains json_contains_path
        json_depth json_detailed json_exists json_extract json_insert json_keys json_length json_loose json_merge_patch
        json_merge_preserve json_object json_objectagg json_overlaps json_pretty json_query json_quote json_remove
        json_replace json_search json_set json_storage_size json_type json_unquote json_valid json_value last_day lcase
        localtime localtimestamp locate lpad make_set makedate maketime md5 median microsecond mid minute month monthname
        now oct ord percentile_cont percentile_disc period_add period_diff quarter quote regexp_instr regexp_like
        regexp_replace regexp_substr repeat rpad sec_to_time second sha sha1 sha2 soundex space std str_to_date strcmp
        subdate substring_index subtime sysdate time time_format time_to_sec timediff timestamp timestampadd timestampdiff
        to_base64 to_char to_days to_seconds truncate ucase unhex unix_timestamp utc_date utc_time utc_timestamp uuid
        week weekday weekofyear weight_string year yearweek natural_sort_key
        bit_length match row"""
    ),
    Dialect.CLICKHOUSE: words(
        """accuratecast accuratecastornull adddays addhours addminutes addmonths addquarters addseconds addweeks addyears
        age any anyheavy anylast appendtrailingcharifabsent argmax argmin array arrayall arrayavg arraycompact arrayconcat
        arraycount arraycumsum arraydifference arraydistinct arrayelement arrayenumerate arrayenumerateuniq arrayexists
        arrayfill arrayfilter arrayfirst arrayfirstindex arrayfold arrayintersect arrayjaccardindex arrayjoin arraylast
        arraylastindex arraymap arraymax arraymin arrayproduct arraypopback arraypopfront arraypushback arraypushfront
        arrayreduce arrayreverse arrayreversesort arrayrotateleft arrayrotateright arrayshiftleft arrayshiftright arrayslice
        arraysort arraysplit arraystringconcat arraysum arrayuniq arrayzip assumenotnull avgweighted base58encode
        base64decode base64encode bar bin bitand bitcount bitnot bitor bitshiftleft bitshiftright bittest bitxor
        boundingratio ceiling cityhash64 coalesce concatwithseparator corr corrstable count countequal countsubstrings
        countsubstringscaseinsensitive covarpop covarsamp crc32 cutquerystring damerauLevenshteindistance date_add date_diff
        date_sub date_trunc dateadd datediff datename datesub datetrunc decodeurlcomponent decodexmlcomponent deltasum domain
        domainwithoutwww editdistance empty encodexmlcomponent endswith entropy extract extractall
        extractallgroups extracttextfromhtml extracturlparameter extracturlparameters farmhash64 first_value firstvalue
        flatten formatdatetime formatreadabledecimalsize formatreadablequantity formatreadablesize formatreadabletimedelta
        format frac fromunixtimestamp fromunixtimestamp64milli fragment gcd greatcircledistance greatest grouparray
        grouparrayinsertat grouparraymovingavg grouparraymovingsum grouparraysample grouparraysorted groupbitand groupbitor
        groupbitxor groupbitmap groupconcat groupuniqarray halfmd5 hasany hasall has hassubstr hassubsequence hastoken hex
        histogram if ifnotfinite indexof initcap intdiv intdivorzero interval isfinite isinfinite isnan isnotnull isnull
        isvalidjson isvalidutf8 javahash jsonextract jsonextractarrayraw jsonextractbool jsonextractfloat jsonextractint
        jsonextractkeys jsonextractkeysandvalues jsonextractraw jsonextractstring jsonextractuint jsonhas jsonlength jsontype visitparamextractstring visitparamextractint visitparamextractuint visitparamextractfloat
        visitparamextractbool visitparamextractraw visitparamhas simplejsonextractstring simplejsonextractint
        simplejsonextractuint simplejsonextractfloat simplejsonextractbool simplejsonextractraw simplejsonhas
        json_exists json_query json_value kurtpop kurtsamp lag laginframe lead leadinframe lcm least leftpad leftpadutf8
        lengthutf8 levenshteindistance like lowerutf8 map mapadd mapcontains mapfilter mapfromarrays mapkeys mapsubtract
        mapvalues mapapply match max max2 md5 min min2 minus mode modulo monthname multifuzzymatchany multiif multimatchany
        multisearchany multiply murmurhash3_32 murmurhash3_64 negate ngramdistance ngramsearch
        not notempty notequals notlike now now64 nullif parsedatetime parsedatetimebesteffort parsedatetimebesteffortornull
        parsedatetimebesteffortorzero parsedatetime64besteffort path pathfull plus port position positioncaseinsensitive
        positionutf8 positivemodulo pow protocol quantile quantiledeterministic quantileexact quantileexacthigh
        quantileexactlow quantileexactweighted quantiles quantiletdigest quantiletiming quantiletimingweighted
        quantilebfloat16 querystring rand rand32 rand64 randcanonical range rankcorr regexpextract regexpquotemeta repeat
        replace replaceall replaceone replaceregexpall replaceregexpone retention reverseutf8 rightpad rightpadutf8 round
        roundage roundbankers rounddown roundduration roundtoexp2 rownumberinallblocks sequencecount sequencematch
        sequencenextnode sha1 sha224 sha256 sha512 simplelinearregression siphash64 skewpop skewsamp space
        splitbychar splitbynonalpha splitbyregexp splitbystring splitbywhitespace startsofinterval startswith
        stddevpop stddevpopstable stddevsamp stddevsampstable subdate subtractdays subtracthours
        subtractminutes subtractmonths subtractquarters subtractseconds subtractweeks subtractyears substringindex
        substringutf8 sum summap sumkahan sumwithoverflow timeslot timeslots toBool todate todate32 todatetime todatetime64
        todateornull todateorzero todatetimeornull todatetimeorzero todayofmonth todayofweek todayofyear today todecimal128
        todecimal256 materialize identity ignore runningdifference neighbor todecimal32 todecimal64 tofixedstring tofloat32 tofloat32ornull tofloat32orzero tofloat64
        tofloat64ornull tofloat64orzero tohour toint128 toint16 toint256 toint32 toint32ornull toint32orzero toint64
        toint64ornull toint64orzero toint8 tointervalday tointervalhour tointervalminute tointervalmonth tointervalquarter
        tointervalsecond tointervalweek tointervalyear toisoweek toisoyear tojsonstring tolastdayofmonth tolastdayofweek
        tominute tomillisecond tomodifiedjulianday tomonday tomonth tonullable toquarter torelativedaynum torelativehournum
        torelativeminutenum torelativemonthnum torelativequarternum torelativesecondnum torelativeweeknum torelativeyearnum
        tosecond tostartofday tostartoffifteenminutes tostartoffiveminute tostartoffiveminutes tostartofhour
        tostartofinterval tostartofisoyear tostartofminute tostartofmonth tostartofquarter tostartofsecond
        tostartoftenminutes tostartofweek tostartofyear tostring totime totimezone totypename touint128 touint16 touint256
        touint32 touint32ornull touint32orzero touint64 touint64ornull touint64orzero touint8 tounixtimestamp
        tounixtimestamp64milli touuid touuidornull toweek toyear toyearweek toyyyymm toyyyymmdd toyyyymmddhhmmss topk
        topkweighted topleveldomain transform trimboth trimleft trimright tryBase64decode tuple tupleelement
        unhex uniq uniqcombined uniqcombined64 uniqexact uniqhll12 uniqthetasketch upperutf8 urlhierarchy
        urlpathhierarchy varpop varpopstable varsamp varsampstable week width_bucket windowfunnel xor xxhash32 xxhash64 year
        yearweek yesterday month day hour minute second quarter dayofmonth dayofweek dayofyear date
        generateuuidv4 lower upper equals less greater lessorequals greaterorequals and or maxmap minmap
        exponentialmovingavg exponentialtimedecayedavg cramersv studentttest welchttest mannwhitneyutest
        isipv4string isipv6string toipv4 toipv6 ipv4numtostring ipv4stringtonum firstsignificantsubdomain
        cuttofirstsignificantsubdomain tolowcardinality ifnull emptyarraytosingle
        arrayflatten arraysimilarity grouparraylast groupuniqarrayarray
        countif sumif avgif minif maxif uniqif anyif """
    ),
    Dialect.ORACLE: words(
        """add_months approx_count approx_count_distinct approx_median approx_percentile approx_rank
        approx_sum ascii asciistr avg bin_to_num bitand cast chr compose concat convert corr corr_k corr_s
        cosh covar_pop covar_samp current_date current_timestamp decode decompose extract
        first from_tz greatest hextoraw initcap instrb instrc json_array json_arrayagg json_exists
        json_mergepatch json_object json_objectagg json_query json_scalar json_serialize json_value last last_day lengthb
        lengthc listagg lnnvl localtimestamp lpad median months_between nanvl new_time next_day nls_initcap nls_lower
        nls_upper nlssort numtodsinterval numtoyminterval nvl nvl2 ora_hash percentile_cont percentile_disc rawtohex
        ratio_to_report regexp_count regexp_instr regexp_like regexp_replace regexp_substr regr_avgx regr_avgy regr_count
        regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy remainder rpad round sinh soundex standard_hash
        stats_mode substrb substrc sys_connect_by_path sys_extract_utc sysdate systimestamp tanh to_binary_double
        to_binary_float to_char to_clob to_date to_dsinterval to_multi_byte to_nchar to_number to_single_byte
        to_timestamp to_timestamp_tz to_yminterval tz_offset unistr validate_conversion vsize wm_concat width_bucket
        connect_by_root grouping_id group_id any_value bit_and_agg bit_or_agg boolean_and_agg boolean_or_agg"""
    ),
    Dialect.SNOWFLAKE: words(
        """any_value approx_count_distinct approx_percentile approx_top_k array_agg array_append array_cat array_compact
        array_construct array_construct_compact array_contains array_distinct array_except array_flatten array_generate_range
        array_insert array_intersection array_max array_min array_position array_prepend array_remove array_remove_at
        array_reverse array_size array_slice array_sort array_sum array_to_string array_union_agg array_unique_agg arrays_overlap
        arrays_to_object arrays_zip as_array as_boolean as_char as_date as_decimal as_double as_integer as_number as_object
        as_real as_time as_varchar ascii base64_decode_string base64_encode bitand bitand_agg bitnot bitor bitor_agg
        bitshiftleft bitshiftright bitxor bitxor_agg booland booland_agg boolnot boolor boolor_agg boolxor boolxor_agg cbrt
        charindex chr collate conditional_change_event conditional_true_event contains convert_timezone corr
        cosh count_if covar_pop covar_samp date date_from_parts date_part date_trunc dateadd datediff datefromparts day dayname
        dayofmonth dayofweek dayofweekiso dayofyear decode div0 div0null editdistance endswith equal_null flatten
        get get_path grouping_id hash hash_agg haversine hex_decode_string hex_encode hll
        hll_estimate hour iff ilike initcap insert is_array is_boolean is_char is_date is_decimal is_double
        is_integer is_null_value is_object is_real is_time is_timestamp_ntz is_varchar jaccard_similarity
        jarowinkler_similarity kurtosis last_day len like_all like_any listagg lpad max_by md5 md5_hex
        md5_number_lower64 median min_by minhash minhash_combine minute mode month monthname months_between
        next_day nullifzero nvl nvl2 object_agg object_construct object_construct_keep_null object_delete object_insert
        object_keys object_pick parse_json parse_url percentile_cont percentile_disc position previous_day quarter ratio_to_report
        regexp regexp_count regexp_instr regexp_like regexp_replace regexp_substr regexp_substr_all regr_avgx regr_avgy
        regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy regr_valx regr_valy repeat rlike rpad
        rtrimmed_length second sha1 sha1_hex sha2 sha2_hex sinh skew soundex space split split_part split_to_table
        square startswith strtok strtok_split_to_table strtok_to_array sysdate tanh time time_from_parts time_slice timeadd timediff
        timestamp_from_parts timestamp_ltz_from_parts timestamp_ntz_from_parts timestamp_tz_from_parts timestampadd
        timestampdiff to_array to_binary to_boolean to_char to_date to_decimal to_double to_geography to_json to_number
        to_numeric to_object to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_timestamp_tz to_varchar to_variant
        truncate try_base64_decode_string try_cast try_parse_json try_to_boolean try_to_date try_to_decimal try_to_double
        try_to_number try_to_numeric try_to_time try_to_timestamp try_to_timestamp_ntz typeof unicode week
        weekiso weekofyear width_bucket year yearofweek yearofweekiso zeroifnull generator current_date
        current_time current_timestamp localtime localtimestamp"""
    ),
    Dialect.BIGQUERY: words(
        """any_value approx_count_distinct approx_quantiles approx_top_count approx_top_sum array array_agg array_concat
        array_concat_agg array_first array_includes array_is_distinct array_last array_length array_max array_min
        array_reverse array_slice array_to_string ascii asinh acosh atanh bit_and bit_count bit_or bit_xor bool bool_array byte_length
        cbrt chr code_points_to_bytes code_points_to_string collate contains_substr corr cosh countif covar_pop covar_samp
        current_date current_datetime current_time current_timestamp date date_add date_bucket date_diff date_from_unix_date
        date_sub date_trunc datetime datetime_add datetime_bucket datetime_diff datetime_sub datetime_trunc div edit_distance
        ends_with extract farm_fingerprint float64 format format_date format_datetime format_time format_timestamp from_base32
        from_base64 from_hex generate_array generate_date_array generate_timestamp_array generate_uuid ieee_divide initcap
        int64 is_inf is_nan json_array json_extract json_extract_array json_extract_scalar json_extract_string_array
        json_keys json_object json_query json_query_array json_remove json_set json_strip_nulls json_type json_value
        json_value_array justify_days justify_hours justify_interval last_day lax_bool lax_float64 lax_int64 lax_string
        logical_and logical_or lpad make_interval max_by md5 min_by normalize normalize_and_casefold offset ordinal parse_bignumeric
        parse_date parse_datetime parse_json parse_numeric parse_time parse_timestamp percentile_cont percentile_disc
        range_bucket range_contains regexp_contains regexp_extract regexp_extract_all regexp_instr regexp_replace
        regexp_substr repeat rpad safe_add safe_cast safe_convert_bytes_to_string safe_divide safe_multiply safe_negate
        safe_offset safe_ordinal safe_subtract sha1 sha256 sha512 sinh soundex split st_area st_asgeojson st_astext
        st_centroid st_contains st_distance st_dwithin st_geogfromtext st_geogpoint st_intersects st_length st_within
        st_x st_y starts_with string string_agg strpos struct tanh time time_add time_diff time_sub time_trunc timestamp
        timestamp_add timestamp_bucket timestamp_diff timestamp_micros timestamp_millis timestamp_seconds timestamp_sub
        timestamp_trunc to_base32 to_base64 to_code_points to_hex to_json to_json_string unicode unix_date unix_micros
        unix_millis unix_seconds unnest"""
    ),
}

LISTED: Final[dict[Dialect, frozenset[str]]] = {
    dialect: frozenset(name.lower() for name in (names | _COMMON)) for dialect, names in _BY_DIALECT.items()
}
"""Functions by lower-case name."""

TABLE_KINDS: Final[tuple[type[exp.Expr], ...]] = (
    exp.Unnest,
    exp.GenerateSeries,
    exp.ExplodingGenerateSeries,
    exp.Explode,
    exp.Flatten,
    exp.Posexplode,
    exp.JSONTable,
    exp.Generator,
    exp.SplitToTable,
    exp.StrtokSplitToTable,
    exp.RegexpSplit,
    exp.JSONBExtract,
    exp.GenerateDateArray,
    exp.GenerateTimestampArray,
)
"""Functions in FROM that the parser knows by type."""

TABLE_FUNCTIONS: Final[dict[Dialect, frozenset[str]]] = {
    Dialect.SQLITE: words("json_each json_tree generate_series"),
    Dialect.DUCKDB: words("range generate_series unnest json_each json_tree generate_subscripts"),
    Dialect.POSTGRESQL: words(
        """generate_series generate_subscripts unnest json_each json_each_text json_array_elements json_array_elements_text
        json_object_keys json_to_record json_to_recordset jsonb_each jsonb_each_text jsonb_array_elements
        jsonb_array_elements_text jsonb_object_keys jsonb_to_record jsonb_to_recordset jsonb_path_query
        regexp_split_to_table regexp_matches string_to_table"""
    ),
    Dialect.MYSQL: words("json_table"),
    Dialect.CLICKHOUSE: words("numbers numbers_mt generateseries generate_series zeros values"),
    Dialect.ORACLE: words("json_table"),
    Dialect.SNOWFLAKE: words("flatten split_to_table strtok_split_to_table generator"),
    Dialect.BIGQUERY: words("unnest"),
}
"""Functions in FROM by lower-case name."""

TABLE_FUNCTION_COLUMNS: Final[dict[tuple[Dialect, str], tuple[str, ...]]] = {
    (Dialect.SQLITE, name): ("key", "value", "type", "atom", "id", "parent", "fullkey", "path", "json", "root")
    for name in ("json_each", "json_tree")
} | {
    (Dialect.CLICKHOUSE, "numbers"): ("number",),
    (Dialect.CLICKHOUSE, "numbers_mt"): ("number",),
    (Dialect.POSTGRESQL, "json_each"): ("key", "value"),
    (Dialect.POSTGRESQL, "jsonb_each"): ("key", "value"),
    (Dialect.POSTGRESQL, "json_each_text"): ("key", "value"),
    (Dialect.POSTGRESQL, "jsonb_each_text"): ("key", "value"),
}
"""Columns of table functions whose columns the parser does not know."""

QUALIFIERS: Final[dict[Dialect, frozenset[str]]] = {
    Dialect.POSTGRESQL: words("pg_catalog"),
    Dialect.BIGQUERY: words("hll_count net safe"),
}
"""Schemas whose functions may be called by their qualified name."""

QUALIFIED: Final[dict[Dialect, frozenset[str]]] = {
    Dialect.BIGQUERY: words(
        """hll_count.init hll_count.merge hll_count.merge_partial hll_count.extract net.host net.public_suffix net.reg_domain
        net.ip_from_string net.ip_to_string net.safe_ip_from_string net.ip_trunc net.ipv4_from_int64 net.ipv4_to_int64"""
    ),
}

BARE_SESSION: Final[dict[Dialect, frozenset[str]]] = {
    Dialect.POSTGRESQL: words("user current_user session_user current_role system_user current_catalog current_schema"),
    Dialect.ORACLE: words("user uid ora_invoking_user ora_invoking_userid"),
    Dialect.DUCKDB: words("user current_user session_user current_role current_catalog current_schema"),
    Dialect.SNOWFLAKE: words("current_user current_role current_account"),
    Dialect.BIGQUERY: frozenset(),
    Dialect.CLICKHOUSE: words("current_user"),
    Dialect.MYSQL: words("current_user current_role"),
    Dialect.SQLITE: frozenset(),
}
"""Words that the engine reads as a call without brackets although the parser reads them as a column."""

DANGEROUS: Final = words(
    """load_extension readfile writefile edit fsdir lsmode zipfile eval shell benchmark sleep get_lock release_lock
    is_free_lock is_used_lock load_file sys_exec sys_eval sys_get sys_set name_const master_pos_wait uuid_short nextval
    setval currval lastval last_insert_id dblink file url s3 hdfs remote remotesecure mysql postgresql mongodb odbc jdbc
    executable input joinget dictget catboostevaluate getmacro getsetting query query_table write_log getvariable
    current_setting set_config txid_current lo_import lo_export version user current_user session_user system_user
    database schema connection_id row_count found_rows updatexml extractvalue xmltype httpuritype dburitype sqlite_source_id
    sqlite_version sqlite_compileoption_get sqlite_compileoption_used changes total_changes last_insert_rowid fts3_tokenizer
    query_to_xml table_to_xml cursor_to_xml schema_to_xml database_to_xml ts_stat ts_rewrite connectby crosstab
    currentuser currentdatabase hostname fqdn error_on randomstring external_query"""
)
DANGEROUS_PREFIXES: Final = (
    "pg_",
    "lo_",
    "dblink",
    "inet_server",
    "inet_client",
    "has_",
    "read_",
    "parquet_",
    "sniff_",
    "duckdb_",
    "pragma_",
    "system$",
    "sleep",
    "filesystem",
    "getos",
    "postgres_",
    "mysql_",
    "sqlite_",
    "utl_",
    "dbms_",
    "sys_",
    "xp_",
    "sp_",
    "ai_",
    "current_",
    "txid_",
    "kill",
    "http",
)
"""Names that are refused for safety's sake; another unlisted name is an unknown function, and a draft may follow."""


def is_dangerous(name: str) -> bool:
    """Return whether a call of this name is refused for safety's sake, in whatever dialect.

    >>> is_dangerous("pg_read_file"), is_dangerous("divide")
    (True, False)
    """
    lowered = name.lower()
    return lowered in DANGEROUS or lowered.startswith(DANGEROUS_PREFIXES)
