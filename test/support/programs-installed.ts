import { ensureInstalled } from './installed.ts';

/** Runs once before all tests: many of them start a Redis of their own, or curl. */
export default function setup(): void {
  const packages = ['redis-server', 'redis-tools'];
  ensureInstalled({ command: 'redis-server', versionArgs: ['--version'], packages });
  ensureInstalled({ command: 'curl', versionArgs: ['--version'], packages: ['curl'] });
}
