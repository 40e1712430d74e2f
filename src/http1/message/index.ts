export { CR, HEX, LF, SEMICOLON, SPACE, TEXT, TOKEN } from './byte-classes.ts';
export { connectionOptions, hopFieldNames } from './connection-options.ts';
export { INCOMPLETE, lineEnd, readFields } from './field-section.ts';
export { MalformedMessage } from './malformed-message.ts';
export { PartialHead, sectionEnd } from './partial-head.ts';
export type { Wire } from './wire.ts';
