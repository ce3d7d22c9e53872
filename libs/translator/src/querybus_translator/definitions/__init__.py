"""Questions in the words of an owner's definitions: read as metrics, dimensions, filters and periods, or not at all."""
