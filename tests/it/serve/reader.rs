//! A server in a few lines of shell that has resources and prompts, tells of changes, and asks its user.

use crate::support::TestDir;

/// `prompts/get` asks its user for a color where `ask` stands in its arguments. A call of its tool waits for the file `go`; where
/// there is a file `asks`, it asks its user then. A line in the file `tell` is sent as a notification.
const SCRIPT: &str = r#"
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
ask() { printf '{"jsonrpc":"2.0","id":"q%s","method":"elicitation/create","params":{"message":"Which color?","requestedSchema":{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}}}\n' "$1"; }
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%[!0-9]*}
  case $line in
    *'"method":"initialize"'*)
      reply "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{"listChanged":true},"resources":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"server/discover"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
    *'"method":"tools/list"'*)
      reply "$id" '{"tools":[{"name":"ask","description":"Asks the team.","inputSchema":{"type":"object","properties":{"what":{"type":"string"}}}},{"name":"tell","description":"Tells of a change.","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"prompts/list"'*)
      reply "$id" '{"prompts":[{"name":"triage","description":"Of the server."}]}' ;;
    *'"method":"prompts/get"'*)
      if [ -e "$HOME/asks" ]; then for_prompt=$id; ask "$id"
      else reply "$id" '{"messages":[{"role":"user","content":{"type":"text","text":"Sort it."}}]}'; fi ;;
    *'"method":"resources/list"'*)
      reply "$id" '{"resources":[{"uri":"team://notes","name":"notes"}]}' ;;
    *'"method":"resources/read"'*)
      echo read >> "$HOME/read"
      reply "$id" '{"contents":[{"uri":"team://notes","text":"The notes."}]}' ;;
    *'"method":"tools/call"'*'"name":"tell"'*)
      printf '{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}\n'
      reply "$id" '{"content":[{"type":"text","text":"told"}]}' ;;
    *'"method":"tools/call"'*)
      echo called >> "$HOME/called"
      while [ ! -e "$HOME/go" ]; do sleep 0.05; done
      if [ -e "$HOME/asks" ]; then for_prompt=; for_call=$id; ask "$id"
      else reply "$id" '{"content":[{"type":"text","text":"ask done"}]}'; fi ;;
    *'"id":"q'*)
      color=${line#*\"color\":\"}; color=${color%%\"*}
      case $line in *'"action":"accept"'*) ;; *) color=none ;; esac
      if [ -n "$for_prompt" ]; then
        reply "$for_prompt" "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Sort $color.\"}}]}"
        for_prompt=
      else reply "$for_call" "{\"content\":[{\"type\":\"text\",\"text\":\"chose $color\"}]}"; fi ;;
  esac
done
"#;

/// An app with that server, as `team`, and a skill `triage`.
pub(super) fn app(more: &str, capabilities: &str) -> TestDir {
    let app = format!(
        "
modules: {{hello: {{}}}}
skills: {{folders: [skills]}}
tools:
  registry: [{{type: mcp, namespace: team, command: [sh, server.sh], cwd: .}}]
  capabilities: {capabilities}
{more}
"
    );
    TestDir::with_app(&app).with_file("server.sh", SCRIPT).with_file("skills/triage.md", SKILL)
}

const SKILL: &str = "---
name: triage
description: Sorts what comes in.
allowed-tools: hello.status, nothing.at_all
triggers: [inbox]
---

Sort $ARGUMENTS:

1. See that `hello.status` is fine.
";
