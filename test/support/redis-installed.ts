import { ensureInstalled } from './installed.ts';

/** Runs once before all tests: the tests of Redis start servers of their own, so one has to be installed. */
export default function setup(): void {
  ensureInstalled({
    command: 'redis-server',
    versionArgs: ['--version'],
    packages: ['redis-server', 'redis-tools'],
  });
}
