"""The keys of each format that a reader takes, lists by itself, or knows to be decoration; every other one is listed."""

from __future__ import annotations

from typing import Final


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


OSSIE: Final = {
    "model": _keys(
        "version name description ai_context datasets relationships metrics custom_extensions semantic_model dialects vendors"
    ),
    "dataset": _keys("name source primary_key unique_keys description ai_context label fields custom_extensions"),
    "field": _keys("name expression dimension datatype description ai_context label custom_extensions"),
    "relationship": _keys("name from to from_columns to_columns custom_extensions"),
    "metric": _keys("name expression datatype description ai_context label custom_extensions"),
}
_WORDS: Final = _keys("owner version state labels offered")
EXTENSIONS: Final = {
    "model": _WORDS | _keys("calendar filters verified zero_counts"),
    "dataset": _WORDS | _keys("time validity raw_names"),
    "field": _WORDS | _keys("grain values unit"),
    "relationship": _keys("role range asof bridge measured"),
    "metric": _WORDS
    | _keys(
        "time non_additive kind of window grain_to_date share_of_total base conversion entity calculation formula inputs "
        "fill_nulls_with unit measure_word condition constant dataset dialect through within of_total as"
    ),
}
SNOWFLAKE: Final = {
    "view": _keys(
        "name description comments tables relationships metrics verified_queries custom_instructions module_custom_instructions"
    ),
    "table": _keys(
        "name description synonyms base_table primary_key unique_keys dimensions time_dimensions facts measures columns "
        "metrics filters"
    ),
    "field": _keys(
        "name description synonyms expr data_type unique sample_values is_enum access_modifier cortex_search_service "
        "cortex_search_service_name default_aggregation"
    ),
    "metric": _keys("name description synonyms expr access_modifier non_additive_dimensions using_relationships"),
    "filter": _keys("name description synonyms expr"),
    "relationship": _keys("name left_table right_table relationship_columns join_type relationship_type"),
    "verified_query": _keys("name question sql verified_at verified_by use_as_onboarding_question"),
}
DBT: Final = {
    "semantic_model": _keys(
        "name description label model node_relation defaults entities dimensions measures primary_entity config enabled group"
    ),
    "entity": _keys("name type expr description label config data_tests tests type_params"),
    "dimension": _keys(
        "name type expr description label config data_tests tests type_params validity_params is_partition granularity"
    ),
    "measure": _keys(
        "name agg expr description label config agg_params agg_time_dimension non_additive_dimension create_metric percentile "
        "percentile_type"
    ),
    "metric": _keys(
        "name type label description config type_params filter hidden agg expr percentile percentile_type fill_nulls_with "
        "join_to_timespine agg_time_dimension numerator denominator input_metric input_metrics window grain_to_date period_agg "
        "base_metric conversion_metric entity calculation constant_properties non_additive_dimension"
    ),
    "type_params": _keys(
        "measure numerator denominator expr metrics window grain_to_date cumulative_type_params conversion_type_params "
        "input_measures is_private"
    ),
}
CUBE: Final = {
    "cube": _keys(
        "name title description sql sql_table sql_alias extends public shown joins dimensions measures segments meta calendar "
        "hierarchies pre_aggregations access_policy refresh_key data_source"
    ),
    "dimension": _keys(
        "name title description type sql primary_key public shown case meta format currency granularities time_shift sub_query "
        "propagate_filters_to_sub_query latitude longitude"
    ),
    "measure": _keys(
        "name title description type sql filters drill_members format currency public shown meta rolling_window multi_stage "
        "group_by reduce_by add_group_by time_shift"
    ),
    "join": _keys("name relationship sql"),
    "segment": _keys("name title description sql public shown meta"),
}
