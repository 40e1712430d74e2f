/** As much of a text of the file as a message may repeat: 60 characters, no user and password of a URL, no key that went astray. */
export function quotable(text: string): string {
  const masked = text.replaceAll(/\S*:\S*@/g, '...@').replace(/(client_secret|password)\W.*$/is, '$1...');
  return masked.length > 60 ? `${masked.slice(0, 60)}...` : masked;
}

/** The same of a key that nobody knows: behind a ":" or "=" without a space stands its value, which may be a secret. */
export function quotableKey(key: string): string {
  const [, name = '', rest = ''] = /^([^:=]*)(.*)$/s.exec(key) ?? [];
  return quotable(rest.length > 1 ? `${name}${rest[0]}...` : key);
}
