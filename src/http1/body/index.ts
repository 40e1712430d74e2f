export type { BodyDecoder, PieceTaker } from './body-decoder.ts';
export { type BodyTerms, NO_TERMS } from './body-terms.ts';
export { chunkSize, LAST_CHUNK } from './chunk-writing.ts';
export { ChunkedBody } from './chunked-body.ts';
export { JoinedPieces } from './joined-pieces.ts';
export { LengthBody } from './length-body.ts';
export { UntilCloseBody } from './until-close-body.ts';
