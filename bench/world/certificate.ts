import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TestAuthority } from '../../test/support/certificates.ts';

/** The files of the certificate that every gateway shows: ECDSA on P-256, as most have. */
export interface ServerCertificate {
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Both in one, as HAProxy reads them. */
  readonly bothFile: string;
  /** PEM, of the authority that issued it. */
  readonly authority: string;
}

export async function makeCertificate(directory: string): Promise<ServerCertificate> {
  const authority = new TestAuthority();
  const { certificate, key } = authority.forHosts('localhost', '127.0.0.1');
  const files = {
    certificateFile: join(directory, 'server.crt'),
    keyFile: join(directory, 'server.key'),
    bothFile: join(directory, 'server.pem'),
    authority: authority.certificate,
  };
  await writeFile(files.certificateFile, certificate);
  await writeFile(files.keyFile, key);
  await writeFile(files.bothFile, `${certificate}\n${key}`);
  return files;
}
