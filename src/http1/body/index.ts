export {
  type BodyDecoder,
  type BodyTerms,
  JoinedPieces,
  LengthBody,
  NO_TERMS,
  type PieceTaker,
  UntilCloseBody,
} from './body-decoder.ts';
export { ChunkedBody, chunkSize, LAST_CHUNK } from './chunked-body.ts';
