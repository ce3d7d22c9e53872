"""Words for and from people: morphology, similarity, languages, labels, disclosure of names. Pure."""
