"""Derivatives of whole runs by parameters, beside reduced equations with a complex step."""
