// ends: defined
const settled = await Promise.allSettled(Array.from({ length: 5000 }, (_, at) => tools.host.echo({ at })));
return settled.filter((one) => one.status === 'fulfilled').length <= 50;
