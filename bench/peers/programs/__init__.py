"""The work as each system has it. These files run outside headrace: Java with the jars of a lock, Python in environments of their own."""
