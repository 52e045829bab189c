"""The vocabulary: values and rules without I/O and without a clock."""
