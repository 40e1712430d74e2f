// Runs after `npm pack`: restores the working tree's manifest.
import { rename } from 'node:fs/promises';
import { MANIFEST, WORKING_MANIFEST } from './manifest.ts';

await rename(WORKING_MANIFEST, MANIFEST);
