#!/usr/bin/env node
// The bin: arguments in, exit code out. Our own code is imported after the look at the version, so that an older Node, which
// cannot parse it, gets a sentence and not a syntax error.
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const LEAST_NODE = 24;

if (Number(process.versions.node.split('.')[0]) < LEAST_NODE) {
  process.stderr.write(`weir: needs Node.js ${LEAST_NODE} or newer, this is ${process.versions.node}\n`);
  process.exitCode = 1;
} else {
  // Compiled code is kept for the next start, which then takes half the processor time from the sources and a sixth less from
  // the package. Where this folder cannot be written, nothing is kept. Node.js would use the folder for temporary files, into
  // which other users of the machine can put code.
  module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/weir', import.meta.url)));
  const { nameSourcesInStacks, runCommandLine } = await import('./cli/index.ts');
  nameSourcesInStacks();
  // A reader that has seen enough, such as `weir schema | head`, is no failure: the command ends as it would have.
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return;
    process.stderr.write(`weir: cannot write to standard output: ${code}\n`);
    process.exit(1);
  });
  // Where nobody can be told anything, the exit code remains.
  process.stderr.on('error', () => {});
  process.exitCode = await runCommandLine(process.argv.slice(2), {
    env: process.env,
    out: text => process.stdout.write(text),
    err: text => process.stderr.write(text),
  });
  // A reader may be as slow as it likes, as a pager is, except where a signal has ended the command: then it has a second.
  const pending = [process.stdout, process.stderr].filter(({ writableLength }) => writableLength > 0);
  const written = pending.map(stream => new Promise<void>(done => stream.write('', () => done())));
  const isStopped = process.listenerCount('SIGTERM') > 0;
  const second = new Promise<void>(done => {
    if (isStopped) setTimeout(done, 1_000).unref();
  });
  await Promise.race([Promise.all(written), second]);
  // The work is done: what still keeps the process, such as a connection that does not close, must not hold up its end.
  setTimeout(() => process.exit(), 500).unref();
}
