"""Laws of mechanics over random models."""
