import { relative, resolve } from 'node:path';
import { PACKAGE_ROOT } from '../core/index.ts';

const FOLDER = resolve(PACKAGE_ROOT, 'config/demo');
const FROM_SOURCES = import.meta.filename.endsWith('.ts');

/** The gateway's configuration. */
export const DEMO_CONFIG = resolve(FOLDER, 'gateway.yaml');

/** The folder of the configuration, as a reader in the working directory writes it. */
export function demoFolder(): string {
  const short = relative(process.cwd(), FOLDER);
  return short.startsWith('..') ? FOLDER : short;
}

/** What the reader types: npm runs the sources in a checkout, npx the installed package. */
export const DEMO_COMMANDS = FROM_SOURCES
  ? { flow: 'npm run demo:flow', flowWith: 'npm run demo:flow --', weir: 'npm run -s weir --' }
  : { flow: 'npx weir demo --flow', flowWith: 'npx weir demo --flow', weir: 'npx weir' };
