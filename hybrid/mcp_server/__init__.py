"""The MCP server: a small relay for each client, and one process with the `mcp` package that serves them all."""
