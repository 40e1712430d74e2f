const { warn } = console;
// oidc-provider 9.13.3 warns that Node.js is too old unless its build is named as long-term support (lib/index.js).
console.warn = (text: unknown, ...rest: unknown[]) => {
  if (!String(text).includes('Unsupported runtime')) warn(text, ...rest);
};
const loaded = await import('oidc-provider');
console.warn = warn;

/** The class of oidc-provider, loaded without a warning that is wrong on this Node.js. */
export const OidcProvider = loaded.default;
