// The end of the time cannot be caught (rquickjs: an interrupt is an error of its own kind).
// ends: limit
while (true) { try { while (true) {} } catch {} finally { continue; } }
