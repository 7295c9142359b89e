// ends: defined
return tools.host.echo;
