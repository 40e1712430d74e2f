export { MissingPackages, missingSdk } from './load-sdk.ts';
export { openSpanExport } from './open-span-export.ts';
export type { SpanPeer } from './span-attributes.ts';
export type { SpanExport, SpanExportOptions } from './span-export.ts';
