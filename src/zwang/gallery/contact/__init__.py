"""Models with unilateral contacts and with dry friction."""
