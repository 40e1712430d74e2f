import { z } from 'zod';
import { OUT_REASONS } from '../../../core/index.ts';
import type { EndpointsState } from '../../../upstream/index.ts';
import type { ApiReply } from './operation.ts';

export interface UpstreamSources {
  /** The current addresses of each upstream, by its name. */
  endpoints(): Promise<ReadonlyMap<string, EndpointsState>>;
}

const endpointSchema = z.strictObject({
  address: z.string().describe('The address as host:port, an IPv6 address in brackets.'),
  state: z.enum(['used', ...OUT_REASONS]).describe('Whether it gets requests, or why it gets none.'),
  why: z.string().nullable().describe('Its last fault; null if there was none since its last good answer.'),
  weight: z.number().describe('Its share of the requests, relative to the weights of the others.'),
  connections: z.int().describe('Open connections to it.'),
  requestsInFlight: z.int().describe('Requests that it has not answered yet, and open WebSockets.'),
});

export const upstreamsStatusSchema = z.strictObject({
  upstreams: z
    .array(
      z.strictObject({
        name: z.string().describe('Its name in gateway.yaml.'),
        allEndpointsOut: z
          .boolean()
          .describe('True if every endpoint is out. Then all of them get requests nonetheless.'),
        lookupFault: z
          .string()
          .nullable()
          .describe('Why the last lookup of a name found nothing, so that its last addresses stay in use.'),
        endpoints: z.array(endpointSchema).describe('Its addresses; empty until its name has been found.'),
      }),
    )
    .describe('The upstreams of the configuration that serves.'),
});

/** An endpoint of an upstream, as the API and the status show it. */
export type EndpointStatus = z.input<typeof endpointSchema>;

export function asEndpointStatus(endpoint: EndpointsState['endpoints'][number]): EndpointStatus {
  const { name, outFor, why, weight, connections, inFlight } = endpoint;
  return { address: name, state: outFor ?? 'used', why, weight, connections, requestsInFlight: inFlight };
}

export async function listUpstreams({ endpoints }: UpstreamSources): Promise<ApiReply> {
  const upstreams: z.input<typeof upstreamsStatusSchema>['upstreams'] = Array.from(
    await endpoints(),
    ([name, { allOut, lookupFault, endpoints }]) => ({
      name,
      allEndpointsOut: allOut,
      lookupFault,
      endpoints: endpoints.map(asEndpointStatus),
    }),
  );
  return { status: 200, body: { upstreams }, change: null };
}
