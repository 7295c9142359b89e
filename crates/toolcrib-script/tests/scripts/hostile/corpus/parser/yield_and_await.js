// ends: refused
function* own() { const yield = 1; }
return await;
