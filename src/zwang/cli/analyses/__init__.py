"""Commands of analyses: one file each, whose name is the command's."""
