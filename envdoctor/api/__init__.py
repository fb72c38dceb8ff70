"""The doctor for programs: check, fix and verify as functions, their answers as typed values, a fixture for pytest."""
