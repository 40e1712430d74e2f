import type { LockWait } from '../core/index.ts';
import type { Link } from './link.ts';
import type { PlaneSeed } from './messages.ts';

/** Where planes run: each in a thread of its own, or all in this one. */
export interface PlaneHost {
  /** How a plane waits for memory that another one has locked. */
  readonly wait?: LockWait;
  start(seed: PlaneSeed): HostedPlane;
}

/** A plane that runs somewhere. */
export interface HostedPlane {
  readonly link: Link;
  /** Resolves when it is gone, to why it ended. */
  readonly ended: Promise<string>;
  /** Ends it at once. */
  end(): void;
}
