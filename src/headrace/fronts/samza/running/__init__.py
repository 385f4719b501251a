"""How a program runs: as stages on the kernel, over Kafka or in memory."""
