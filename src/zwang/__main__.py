"""`python -m zwang`."""

from zwang.cli import console

if __name__ == "__main__":
    console()
