/** Methods by themselves, so that all requests share one string of each. */
export type MethodNames = ReadonlyMap<string, string>;

export const NONE_NAMED: MethodNames = new Map();

/** The longest method that is known, and that a route can name. */
export const MAX_METHOD_BYTES = 32;
