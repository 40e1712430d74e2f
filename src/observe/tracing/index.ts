export type { SpanPeer } from './span-attributes.ts';
export {
  MissingPackages,
  missingSdk,
  openSpanExport,
  type SpanExport,
  type SpanExportOptions,
} from './span-export.ts';
