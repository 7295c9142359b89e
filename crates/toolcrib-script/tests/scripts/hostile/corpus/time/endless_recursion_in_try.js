// Each overflow is caught, and the next one begins.
// ends: limit
const dive = () => { try { dive(); } catch { dive(); } };
while (true) { try { dive(); } catch {} }
