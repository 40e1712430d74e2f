/** How many conversations and answers `npm run test:long` has all parsers read: docs/decisions/001-own-http1.md names them. */
export const WHOLE_CONVERSATIONS = 12_000;
export const WHOLE_READINGS = 12_000;
