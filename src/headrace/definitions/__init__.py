"""What a program writes: arguments, durations, schemas, secrets, checked and put into words before anything runs."""
