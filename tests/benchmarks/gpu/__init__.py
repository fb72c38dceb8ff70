"""What a GPU machine is measured by: each module is one measurement, `all` runs them in order of value.

    python -m tests.benchmarks.gpu all --minutes 9 --output results.json

Everything also runs at toy size on a CPU (`--size toy --device cpu`), where its figures mean nothing.
"""
