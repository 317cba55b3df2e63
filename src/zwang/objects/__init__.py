"""Records, families of methods, progress, and how objects print themselves."""
