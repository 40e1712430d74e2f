import type { Application } from '../application.ts';
import { git } from './git.ts';
import { socketIo } from './socket-io.ts';

/** The rows of the table in docs/services.md. */
export const APPLICATIONS: readonly Application[] = [git, socketIo];
