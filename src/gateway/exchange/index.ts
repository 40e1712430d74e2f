export * from './destination.ts';
export { ConnectionMemory, type Downstream, type Successor, type ValidToken } from './downstream.ts';
export * from './exchange.ts';
export { OwnedConnections } from './owned-connections.ts';
export type { EndedBy, Standing } from './standing.ts';
