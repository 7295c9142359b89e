//! Configurations as people have them.

/// One of each client, with servers, keys and whatever else stands in such files.
pub(super) const CONFIGURATIONS: [(&str, &str); 6] = [
    (
        "claude-code",
        r#"{
  "numStartups": 12,
  "mcpServers": {
    "github": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-github"],
      "env": {"GITHUB_TOKEN": "ghp_sesame0123456789", "LOG_LEVEL": "debug"}
    },
    "crm": {"type": "http", "url": "https://crm.example/mcp", "headers": {"Authorization": "Bearer ${CRM_TOKEN}"}}
  },
  "projects": {}
}
"#,
    ),
    (
        "claude-desktop",
        "{\"mcpServers\":{\"git.hub mcp\":{\"command\":\"npx\",\"args\":[\"-y\",\"server \\\"q\\\"\\nline\",\"${\"],\"env\":{\"API_KEY\":\"sesame-\\u2028-key\"}}}}",
    ),
    (
        "cursor",
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"docs\": {\"url\": \"https://docs.example/sse?api_key=sesame-query\", \"type\": \"sse\"},\r\n\t\t\"local\": {\"command\": \"${userHome}/bin/local\", \"env\": {\"TOKEN\": \"${env:LOCAL_TOKEN}\"}, \"disabled\": true}\r\n\t}\r\n}\r\n",
    ),
    (
        "vscode",
        r#"{
    // Servers of mine.
    "inputs": [{"type": "promptString", "id": "db-key", "password": true}],
    "servers": {
        /* the database */
        "日本": {"type": "stdio", "command": "db", "args": ["--dsn", "postgres://ada:sesame-pw@db/main"], "env": {"DB_KEY": "${input:db-key}"}},
        "editor": {"command": "x", "args": ["${command:pick}"]}, // asks
    },
}
"#,
    ),
    (
        "codex",
        r#"model = "gpt-5" # the usual

# Servers.
[mcp_servers.github]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-github"]
env_vars = ["GITHUB_TOKEN"]
startup_timeout_sec = 30

[mcp_servers.github.env]
SECRET = '''sesame ]
multi'''

[mcp_servers.figma]
url = "https://mcp.figma.example/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
http_headers = { "X-Key" = "sesame-header" }
enabled = true

[mcp_servers.off]
command = "off"
enabled = false
# the end
"#,
    ),
    (
        "gemini",
        r#"{
  "theme": "dark",
  "mcp": {"excluded": ["old"]},
  "mcpServers": {
    "web": {"httpUrl": "http://localhost:8080/mcp", "headers": {"X-Api-Key": "$WEB_KEY"}, "trust": true},
    "old": {"command": "old", "args": ["--token", "sesame-old"]},
    "toolcrib": {"command": "/opt/bin/toolcrib", "args": ["serve", "/old/app.yaml", "--stdio"]}
  }
}
"#,
    ),
];

/// What must never be seen: every secret in them has it.
pub(super) const SESAME: &str = "sesame";
