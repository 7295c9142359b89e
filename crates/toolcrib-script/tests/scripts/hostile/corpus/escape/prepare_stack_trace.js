// CVE-2022-36067, CVE-2023-29017: a hook for stacks receives objects of the host.
// ends: value []
const found = [];
Error.prepareStackTrace = (error, frames) => {
  for (const frame of Array.isArray(frames) ? frames : []) {
    try {
      const host = frame.getThis && frame.getThis();
      if (host && host.process) found.push('process');
      if (frame.getFunction && frame.getFunction()) found.push('function');
    } catch {}
  }
  return 'x';
};
try { null.x; } catch (error) { String(error.stack); }
try { await tools.host.fail({}); } catch (error) { String(error.stack); }
Error.captureStackTrace && Error.captureStackTrace({});
return found.filter((one) => one === 'process');
