"""HTTP client of model servers: sends a request body, streams the reply, turns failures into typed errors."""
