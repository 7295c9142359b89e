// ends: limit
await tools.host.echo({ get value() { while (true) {} } });
