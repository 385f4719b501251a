"""What `python -m bench` asks, a question a file. A new one is a file here and a line in `bench/run.py`."""
