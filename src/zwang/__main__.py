"""`python -m zwang`."""

from zwang.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
