import typer

from bench.faults.run import main

if __name__ == "__main__":
    typer.run(main)
