import { keepTrailerFields } from '../../http/index.ts';
import { renderError, upstreamFailed } from '../responses/index.ts';
import type { Dialect } from './dialect.ts';

/** Requests of HTTP itself. */
export const HTTP: Dialect = {
  protocol: null,
  isPaced: true,
  routedMethod: ({ method }) => method,
  timeoutMs: () => null,
  upstreamFailed: ({ cause }) => upstreamFailed(cause),
  render: renderError,
  trailersFor: () => null,
  keepTrailers: keepTrailerFields,
  noteEnd: () => {},
};
