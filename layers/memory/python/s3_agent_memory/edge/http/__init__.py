"""The HTTP API, as any web server or API Gateway may call it."""
