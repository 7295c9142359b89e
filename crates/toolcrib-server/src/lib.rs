//! The runtime as an MCP server.
