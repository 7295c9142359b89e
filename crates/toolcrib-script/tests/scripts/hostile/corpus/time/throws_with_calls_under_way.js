// ends: refused
for (let at = 0; at < 20; at++) tools.host.slow({ at });
throw new Error('left');
