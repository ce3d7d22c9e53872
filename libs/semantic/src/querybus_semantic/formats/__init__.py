"""Files of other tools: Ossie, dbt, Snowflake and Cube are read into a layer, and whatever is not taken is listed by name."""
