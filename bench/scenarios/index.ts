import { balance, slowEndpoint } from './balance.ts';
import { post, responses } from './bodies.ts';
import { cold } from './cold.ts';
import { connections } from './connections.ts';
import { decisions } from './decisions.ts';
import { grpc } from './grpc.ts';
import { http2 } from './http2.ts';
import { liveKeys } from './keys.ts';
import { overload } from './overload.ts';
import { forwarding, pipeline } from './pipeline.ts';
import { invalidTokens, refusals, restricted } from './refusals.ts';
import { reload } from './reload.ts';
import type { Scenario } from './scenario.ts';
import { manyRoutes, steps } from './steps.ts';
import { streams } from './streams.ts';
import { tls } from './tls.ts';
import { coldTokens, forgedTokens } from './tokens.ts';
import { webSocketScenarios } from './web-sockets.ts';
import { workers } from './workers.ts';

/** In the order of a run and of its report. */
export const SCENARIOS: readonly Scenario[] = [
  pipeline,
  forwarding,
  cold,
  steps,
  post,
  ...responses,
  ...streams,
  refusals,
  restricted,
  invalidTokens,
  coldTokens,
  forgedTokens,
  liveKeys,
  decisions,
  manyRoutes,
  balance,
  slowEndpoint,
  ...connections,
  ...tls,
  ...http2,
  ...grpc,
  ...webSocketScenarios,
  reload,
  overload,
  workers,
];
