"""What is run by hand: benchmarks, fuzzing, mutations, differential runs, documents, releases."""
