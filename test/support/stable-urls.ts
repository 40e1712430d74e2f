import { registerHooks } from 'node:module';

/**
 * Vitest adds the time to the URL of each file that it runs, so that files which share a process are run again. Node.js would then
 * strip and compile them in each run, and keep that for ever (NODE_COMPILE_CACHE). A count of the visits does as well, and is the same
 * in each run. For this process.
 */
const visits = new Map<string, number>();

registerHooks({
  resolve(specifier, context, nextResolve) {
    const result = nextResolve(specifier, context);
    const [url = '', time] = result.url.split('?vitest=');
    if (time === undefined) return result;
    const visit = visits.get(url) ?? 0;
    visits.set(url, visit + 1);
    return { ...result, url: visit === 0 ? url : `${url}?visit=${visit}` };
  },
});
