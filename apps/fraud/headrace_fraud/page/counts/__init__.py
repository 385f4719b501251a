"""What the page counts of the topics: answers, seconds, minutes, latencies, and how right they were."""
