#!/usr/bin/env node
// The executable: arguments in, exit code out. It imports Weir's code only after it checked the version, so that an older Node.js,
// which cannot parse that code, prints a sentence instead of a syntax error.
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { isMainThread } from 'node:worker_threads';

const MIN_NODE = 26;

if (Number(process.versions.node.split('.')[0]) < MIN_NODE) {
  process.stderr.write(`weir: needs Node.js ${MIN_NODE} or newer, this is ${process.versions.node}\n`);
  process.exitCode = 1;
} else if (isMainThread) {
  collectOldObjectsEarly();
  // A service manager may ask for a reload as soon as the process runs. Without a handler the signal would end it, as would SIGUSR2, and
  // SIGUSR1 would open the debugger of Node.js: other servers open their logs again by these.
  const harmless = process.argv[2] === 'serve' ? ['SIGHUP', 'SIGUSR1', 'SIGUSR2'] : [];
  for (const signal of harmless) process.on(signal, () => {});
  const { nameSourcesInStacks, runCommandLine } = await load();
  nameSourcesInStacks();
  // A reader that stops early, such as `weir schema | head`, is not an error: the command ends with its usual exit code.
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return;
    process.stderr.write(`weir: cannot write to standard output: ${code}\n`);
    process.exit(1);
  });
  // If standard error cannot be written, only the exit code can report it.
  process.stderr.on('error', () => {});
  process.exitCode = await runCommandLine(process.argv.slice(2), {
    env: process.env,
    out: text => process.stdout.write(text),
    err: text => process.stderr.write(text),
  });
  // Wait for slow readers such as pagers, but only a second if a signal has ended the command.
  const pending = [process.stdout, process.stderr].filter(({ writableLength }) => writableLength > 0);
  const written = pending.map(stream => new Promise<void>(done => stream.write('', () => done())));
  const isStopped = process.listenerCount('SIGTERM') > 0;
  const second = new Promise<void>(done => {
    if (isStopped) setTimeout(done, 1_000).unref();
  });
  await Promise.race([Promise.all(written), second]);
  // The work is done: nothing, such as a connection that does not close, may keep the process running.
  setTimeout(() => process.exit(), 500).unref();
} else {
  // `serve` starts this script in threads of its own, too.
  const { nameSourcesInStacks, runThread } = await load();
  nameSourcesInStacks();
  await runThread();
}

/**
 * Makes V8 collect all objects once they take twice what was in use, instead of four times that. With 1,000 requests in flight, most young
 * objects grow old before they are garbage: the peak is then 208 MiB instead of 286, for the same processor time. V8 reuses cached code
 * only if this flag is the same as when the code was cached. Workers start later and share the flag of the main thread.
 */
function collectOldObjectsEarly() {
  setFlagsFromString('--heap-growing-percent=100');
}

function load() {
  // Keep compiled code for the next start, which then takes half the processor time from the sources and a sixth less from the
  // package. If this folder cannot be written, nothing is kept. Node.js would use the folder for temporary files by default, where
  // other users of the machine could put code.
  module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/weir', import.meta.url)));
  return import('./cli/index.ts');
}
