import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Clock } from '../../core/index.ts';
import { type CertificateFacts, pairError, readCertificate } from '../../wire/tls/index.ts';
import { type ConfigFile, type Path, readNamedText, type Section } from '../file/index.ts';
import { optionalFile } from '../values/index.ts';

/** The content of a file; `undefined` if none is named, `null` if it is unusable, which was reported. */
export type FileText = string | null | undefined;

/** The texts of one of the gateway's certificates and its key; `null` if missing or unusable, which was reported. */
export interface KeyPair {
  readonly certificate: FileText;
  readonly key: FileText;
}

export interface TlsFiles extends KeyPair {
  readonly ca: FileText;
}

/** The TLS files for connections to a server. `what` names it: `a service`. */
export function clientTlsKeys(what: string) {
  return {
    ca_file: optionalFile().describe('Certificates to trust instead of the usual authorities.'),
    certificate_file: optionalFile().describe(
      `The gateway's own certificate, for ${what} that asks for one.`,
    ),
    key_file: optionalFile().describe('The key of that certificate, unencrypted.'),
  };
}

/** How long before its expiry a certificate is reported: time enough to renew it by hand. */
const WARN_BEFORE_MS = 14 * 86_400_000;

/** Returns what is wrong with the content of a file, or `undefined`. */
const CHECKS = { secret: secretError, key: keyError, certificates: certificateError } as const;

/**
 * Reads the secrets, keys and certificates that a section of gateway.yaml names. Reads the raw value and each file separately,
 * so that one error does not hide others.
 */
export class SecretFiles {
  readonly #section: Section;
  readonly #clock: Clock;

  constructor(section: Section, clock: Clock) {
    this.#section = section;
    this.#clock = clock;
  }

  /** Reads the file that a key names. */
  async read(kind: keyof typeof CHECKS, ...keys: Path): Promise<FileText> {
    const { file } = this.#section;
    const path = this.#section.at(keys);
    const text = await readNamedText(file, path);
    const error = typeof text === 'string' ? CHECKS[kind](text) : undefined;
    if (error !== undefined) file.add(path, error, { isContent: true });
    return error === undefined ? text : null;
  }

  /** A certificate that is used with this key, whose own file is reported elsewhere. */
  async certificateOf(key: FileText, ...keys: Path): Promise<FileText> {
    const certificate = await this.read('certificates', ...keys);
    if (typeof certificate !== 'string' || typeof key !== 'string') return certificate;
    const error = pairError(certificate, key);
    if (error !== null) this.#section.add(keys, error, { isContent: true });
    this.#warnOfDates(keys, readCertificate(certificate));
    return error === null ? certificate : null;
  }

  /** The files named under `tls`; each may be absent. */
  async tls(): Promise<TlsFiles> {
    return { ca: await this.read('certificates', 'tls', 'ca_file'), ...(await this.keyPair('tls')) };
  }

  /** Reads a certificate with its key. Reports one without the other, an unusable pair, and an expiry that is near. */
  async keyPair(...keys: Path): Promise<KeyPair> {
    const certificateAt = [...keys, 'certificate_file'];
    const keyAt = [...keys, 'key_file'];
    const certificate = await this.read('certificates', ...certificateAt);
    const key = await this.read('key', ...keyAt);
    if ((certificate === undefined) !== (key === undefined)) {
      if (key === undefined) this.#section.add(certificateAt, 'also needs "key_file"');
      else this.#section.add(keyAt, 'also needs "certificate_file"');
      return { certificate: null, key: null };
    }
    if (typeof certificate !== 'string' || typeof key !== 'string') return { certificate, key };
    const error = pairError(certificate, key);
    if (error !== null) this.#section.add(keyAt, error, { isContent: true });
    this.#warnOfDates(certificateAt, readCertificate(certificate));
    return error === null ? { certificate, key } : { certificate: null, key: null };
  }

  /** Warns of an expired certificate, and the like. No error: the gateway must still start, and follow its files. */
  #warnOfDates(keys: Path, { notBeforeMs, notAfterMs }: CertificateFacts): void {
    const nowMs = this.#clock.epochMs();
    const warning =
      notAfterMs <= nowMs
        ? `the certificate expired on ${day(notAfterMs)}`
        : notAfterMs - nowMs <= WARN_BEFORE_MS
          ? `the certificate expires on ${day(notAfterMs)}`
          : notBeforeMs > nowMs
            ? `the certificate is not valid before ${new Date(notBeforeMs).toISOString()}`
            : null;
    if (warning !== null) this.#section.warn(keys, warning);
  }
}

function day(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}

/** Chooses between the secret of a variable and that of a file. Reports two, and a variable that cannot be one. */
export function chooseSecret(
  file: ConfigFile,
  path: Path,
  { variable, fromFile }: { readonly variable: string | undefined; readonly fromFile: FileText },
): FileText {
  if (variable === undefined) return fromFile;
  const key = String(path.at(-1));
  const named = path.with(-1, `${key}_file`);
  if (file.has(named)) file.addKey(named, `"${key}" is given as well: remove one of the two`);
  const secret = variable.replace(/[\r\n]+$/, '');
  const error = secretError(secret);
  // Other problems were already reported.
  if (error !== undefined && file.isVariable(path)) file.add(path, error);
  return error === undefined ? secret : null;
}

/** Detects a wrong file before the provider or Redis rejects its secret. */
function secretError(text: string): string | undefined {
  if (text === '') return 'the secret is empty';
  return /[\x00-\x1f\x7f]/.test(text) ? 'a secret must be one line without control characters' : undefined;
}

/** Checks every certificate: Node silently skips unreadable ones, and may then trust none. */
function certificateError(text: string): string | undefined {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) return 'the file contains no PEM certificate';
  const unreadable = blocks.findIndex(block => !succeeds(() => new X509Certificate(block)));
  return unreadable === -1 ? undefined : `certificate ${unreadable + 1} of the file cannot be read`;
}

function keyError(text: string): string | undefined {
  if (succeeds(() => createPrivateKey(text))) return undefined;
  return 'the file contains no PEM private key, or an encrypted one';
}

function succeeds(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    // Drops the cause, which may contain a part of the key.
    return false;
  }
}

const MIN_CHARACTERS = 32;

/**
 * Reads an unguessable secret from the file that a key of gateway.yaml names. Returns null if none is named or, after adding an
 * error to the file, if it is unusable.
 *
 * @param what for messages: `key`, `token`
 */
export async function readKeyFile(file: ConfigFile, path: Path, what: string): Promise<string | null> {
  const text = (await readNamedText(file, path)) ?? null;
  if (text === null || text.length >= MIN_CHARACTERS) return text;
  file.add(
    path,
    `the ${what} has fewer than ${MIN_CHARACTERS} characters: generate one with "openssl rand -base64 32"`,
    { isContent: true },
  );
  return null;
}
