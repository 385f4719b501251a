"""The Spark session, the JVM under it, and its failures in words."""
