const { warn } = console;
// oidc-provider 9.13.3 takes a Node.js whose builds do not name a line of long-term support for too old (its lib/index.js).
console.warn = (text: unknown, ...rest: unknown[]) => {
  if (!String(text).includes('Unsupported runtime')) warn(text, ...rest);
};
const loaded = await import('oidc-provider');
console.warn = warn;

/** The class of oidc-provider, loaded without a warning that is wrong on this Node.js. */
export const OidcProvider = loaded.default;
