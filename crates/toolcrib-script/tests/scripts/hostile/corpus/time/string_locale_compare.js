// ends: defined
try { return 'x'.repeat(1e6).localeCompare('x'.repeat(1e6) + 'y'); } catch { return 'refused'; }
