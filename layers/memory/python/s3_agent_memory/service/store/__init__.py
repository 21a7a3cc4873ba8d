"""The one object in front of everything that is done with memories."""
