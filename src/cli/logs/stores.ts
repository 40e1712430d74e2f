/** Where limits are counted: by each gateway alone, or by all together. */
export const STORES = ['memory', 'redis'] as const;
export type Store = (typeof STORES)[number];
