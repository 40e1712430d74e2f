import { createHash } from 'node:crypto';

import type { ConfigFile } from '../../file/index.ts';
import { readKeyFile } from './read-key-file.ts';

const PATH = ['listen', 'admin', 'token_file'];

/**
 * Reads the token of the admin API that `listen.admin.token_file` of gateway.yaml names. Returns its SHA-256, which is all that a
 * comparison needs. Null: none is named, or it cannot be used, which was reported.
 */
export async function readAdminToken(file: ConfigFile): Promise<Buffer | null> {
  const token = await readKeyFile(file, PATH, 'token');
  if (token === null) return null;
  // RFC 6750, 2.1: what a client can send after "Bearer".
  if (/^[A-Za-z0-9._~+/-]+=*$/.test(token)) return createHash('sha256').update(token).digest();
  file.add(
    PATH,
    'the token must be one line of letters, digits and "-._~+/", and may end with "=": generate one with "openssl rand -base64 32"',
    { isContent: true },
  );
  return null;
}
