export { ClaimedLimits } from './claimed-limits.ts';
export { Keyspaces, newCounter } from './counter.ts';
export { CounterTable } from './counter-table.ts';
export * from './decision.ts';
export * from './in-flight.ts';
export * from './limit-definition.ts';
export * from './memory-store.ts';
export { newPartition } from './partitions.ts';
export { RecordTable, StringHash } from './record-table.ts';
