import { resolve } from 'node:path';

/** The folder of this package: two folders up from src/core/ in a checkout, and from dist/chunks/ in the bundle. */
export const PACKAGE_ROOT = resolve(import.meta.dirname, '../..');
