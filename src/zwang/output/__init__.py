"""What is written about a run: its report (`report/`) and the page that plays it (`viewer/`)."""
