"""What a question says of time: periods as conditions, days from one date to another, periods that are compared."""
