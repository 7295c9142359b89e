// Annotations of types are removed, or refused with advice.
// ends: defined
const read = async (name: string, ...rest: Array<number>): Promise<unknown> => name as unknown;
return await read('x' satisfies string);
