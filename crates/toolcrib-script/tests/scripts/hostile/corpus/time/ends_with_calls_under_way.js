// ends: defined
for (let at = 0; at < 20; at++) tools.host.slow({ at });
return 'left';
