export { type AccessToken, ConnectionMemory, type ValidToken } from './connection-memory.ts';
export * from './destination.ts';
export { isGrpc } from './dialect.ts';
export type { Downstream, Successor } from './downstream.ts';
export * from './exchange.ts';
export { OwnedConnections } from './owned-connections.ts';
export type { Price } from './price.ts';
export { SERVED, type Served } from './response.ts';
export type { EndedBy, Standing } from './standing.ts';
