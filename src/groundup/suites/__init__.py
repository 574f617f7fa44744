"""The benchmarks: loading, oracle, graders and summary of each. Suites never import each other or agents."""
