from importlib.util import find_spec

pytest_plugins = ["headrace.testing.fixtures"]

# Apache Beam has an environment of its own, in which `make test` runs what needs it.
collect_ignore_glob = [] if find_spec("apache_beam") else ["tests/fronts/beam/*", "src/headrace/fronts/beam/*", "src/headrace/beam.py"]
