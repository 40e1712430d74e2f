// Runs after `npm pack`: brings the working tree's manifest back.
import { rename } from 'node:fs/promises';
import { MANIFEST, WORKING_MANIFEST } from './manifest.ts';

await rename(WORKING_MANIFEST, MANIFEST);
