"""How a program puts them together: as a class, with a builder, in YAML."""
