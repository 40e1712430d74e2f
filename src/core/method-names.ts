/** Each method under its own name: requests take the string from here, so that all share one. */
export type MethodNames = ReadonlyMap<string, string>;

export const NO_METHOD_NAMES: MethodNames = new Map();

/** The longest method that is known, and that a route can name. */
export const MAX_METHOD_BYTES = 32;
