export { type BodyDecoder, NO_FIELDS, type PieceTaker } from './body-decoder.ts';
export { type BodyTerms, NO_TERMS } from './body-terms.ts';
export { CR, LF, SPACE, TEXT, TOKEN } from './byte-classes.ts';
export { chunkSize, LAST_CHUNK } from './chunk-writing.ts';
export { ChunkedBody } from './chunked-body.ts';
export { INCOMPLETE, lineEnd, readFields } from './field-section.ts';
export { LengthBody } from './length-body.ts';
export { MalformedMessage } from './malformed-message.ts';
