"""The doc."""
print(__doc__)
