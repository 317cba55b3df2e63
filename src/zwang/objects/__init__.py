"""Records, families of methods, progress reports, caches, and display of objects."""
