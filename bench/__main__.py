import typer

from bench.run import main

if __name__ == "__main__":
    typer.run(main)
