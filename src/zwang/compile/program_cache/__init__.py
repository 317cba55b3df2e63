"""Compiled programs kept on disk between processes."""
