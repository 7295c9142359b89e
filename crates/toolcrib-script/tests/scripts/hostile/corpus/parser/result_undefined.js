// ends: defined
return undefined;
