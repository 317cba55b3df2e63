"""Models with gaps that open and close, and dry friction that sticks and slides."""
