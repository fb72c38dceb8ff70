"""What is known about versions, pairs, variables and CPUs: tables as data, each row with its source."""
