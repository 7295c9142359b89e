// ends: refused
with (tools) { return host; }
