"""What a program describes: streams, tables and the operators between them."""
