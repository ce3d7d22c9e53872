"""From a logical form to SQL."""
