"""Words of English and Chinese: tokens, stems, lexicon, periods."""
