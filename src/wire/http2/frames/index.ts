export { FrameReader } from './frame-reader.ts';
export { Flag, type FrameSink, MAX_31_BITS, MAX_PAYLOAD, PREFACE, SettingId } from './frame-type.ts';
export { FrameWriter } from './frame-writer.ts';
