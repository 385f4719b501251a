import typer

from bench.nexmark.run import main

if __name__ == "__main__":
    typer.run(main)
