import { beforeEach } from 'vitest';
import { forgetSecrets } from './secrets.ts';

// A setup file runs for each test file; a module that files share is evaluated once, and its hooks would count for the first of them.
beforeEach(forgetSecrets);
