"""The Model Context Protocol: tools, resources and prompts, over stdio and over HTTP."""
