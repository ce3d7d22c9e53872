"""Many questions under one name: batches that are run once, boards that are asked again and again."""
