"""Output of a run: its report (`report/`), the page that plays it (`viewer/`), films, tables."""
