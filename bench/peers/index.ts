import { envoy } from './envoy.ts';
import { haproxy } from './haproxy.ts';
import { nginx } from './nginx.ts';
import { fastify, httpProxy3 } from './node-peers.ts';
import type { Peer } from './peer.ts';
import { weir } from './weir.ts';

/** What a user would pick, in the order of the tables. */
export const PEERS: readonly Peer[] = [weir, envoy, nginx, haproxy, httpProxy3, fastify];
