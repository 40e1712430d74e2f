export { FrameReader } from './frame-reader.ts';
export type { FrameSink } from './frame-sink.ts';
export { Flag, MAX_31_BITS, MAX_PAYLOAD, Setting } from './frame-type.ts';
export { FrameWriter } from './frame-writer.ts';
