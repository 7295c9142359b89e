// Source that reads differently from what it does (CVE-2021-42574).
// made: 'const level = "user\u202e\u2066// check if admin\u2069\u2066"; return level === "user" ? "user" : "other";'
// ends: value "other"
