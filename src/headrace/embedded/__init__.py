"""What one machine needs and may not have: Java, the jars, a Kafka broker. Nothing here knows about streams."""
