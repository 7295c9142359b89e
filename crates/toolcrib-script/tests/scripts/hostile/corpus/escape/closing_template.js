// ends: refused
return `${'}'}; process.exit(1);
