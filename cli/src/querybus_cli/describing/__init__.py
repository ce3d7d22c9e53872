"""Drafts of what an owner would say of a plain database: names for people, measure words, synonyms, personal data, relations."""
