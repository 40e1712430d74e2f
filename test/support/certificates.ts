import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';

export interface Identity {
  /** PEM. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
}

export interface Certificates {
  /** PEM of the authority that signed `server` and `client`. */
  readonly ca: string;
  /** For https on 127.0.0.1 and localhost. */
  readonly server: Identity;
  /** Common name `weir-gateway`. */
  readonly client: Identity;
}

/** Makes an authority and two certificates. */
export function makeCertificates(): Certificates {
  const authority = new TestAuthority();
  return {
    ca: authority.certificate,
    server: authority.forHosts('127.0.0.1', 'localhost'),
    client: authority.forClient('weir-gateway'),
  };
}

const DAYS = 30;
const DAY_MS = 86_400_000;

/** An authority that issues certificates for keys on the curve P-256. */
export class TestAuthority {
  /** PEM. */
  readonly certificate: string;
  readonly #name: string;
  readonly #key = newKey();

  constructor(name = 'weir test authority') {
    this.#name = name;
    this.certificate = this.#certify(this.#key, name, DAYS, [IS_AUTHORITY]);
  }

  /** For https on these hosts: names, wildcards or addresses. */
  forHosts(...hosts: readonly string[]): Identity {
    return this.forHostsWith({}, ...hosts);
  }

  /** `days` until it expires; in the past where below 0. */
  forHostsWith({ days = DAYS }: { readonly days?: number }, ...hosts: readonly string[]): Identity {
    return this.#issue('localhost', days, [...(hosts.length === 0 ? [] : [namesOf(hosts)]), SERVES]);
  }

  forClient(name: string): Identity {
    return this.#issue(name, DAYS, [CALLS]);
  }

  /** The certificate of a key that exists, for https on this host. PEM. */
  forKey(key: string, host: string): string {
    return this.#certify(createPrivateKey(key), 'localhost', DAYS, [namesOf([host])]);
  }

  #issue(name: string, days: number, extensions: readonly Buffer[]): Identity {
    const key = newKey();
    const pem = String(key.export({ type: 'pkcs8', format: 'pem' }));
    return { certificate: this.#certify(key, name, days, extensions), key: pem };
  }

  /** RFC 5280, section 4.1: what is certified, how it is signed, and the signature. */
  #certify(key: KeyObject, name: string, days: number, extensions: readonly Buffer[]): string {
    const now = Date.now();
    const ends = now + days * DAY_MS;
    const certified = sequence(
      der(0xa0, der(INTEGER, Buffer.of(2))),
      der(INTEGER, Buffer.of(1), randomBytes(15)),
      ECDSA_WITH_SHA256,
      distinguished(this.#name),
      sequence(time(Math.min(now, ends - DAY_MS)), time(ends)),
      distinguished(name),
      createPublicKey(key).export({ type: 'spki', format: 'der' }),
      der(0xa3, sequence(...extensions)),
    );
    const signature = sign('sha256', certified, this.#key);
    const whole = sequence(certified, ECDSA_WITH_SHA256, der(BIT_STRING, Buffer.of(0), signature));
    const lines = whole.toString('base64').replaceAll(/.{1,64}/g, '$&\n');
    return `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`;
  }
}

function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

// Tags of ASN.1.
const INTEGER = 2;
const BIT_STRING = 3;
const OCTET_STRING = 4;
const OBJECT_IDENTIFIER = 6;
const UTF8_STRING = 12;
const UTC_TIME = 23;

/** A value of ASN.1 in the encoding of certificates: its tag, how long it is, and its parts. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  // In the fewest bytes: Go refuses a certificate with others.
  const lengths =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...lengths]), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
const identifier = (hex: string): Buffer => der(OBJECT_IDENTIFIER, Buffer.from(hex, 'hex'));
const extension = (id: string, value: Buffer): Buffer => sequence(identifier(id), der(OCTET_STRING, value));

const ECDSA_WITH_SHA256 = sequence(identifier('2a8648ce3d040302'));
const IS_AUTHORITY = extension('551d13', sequence(der(1, Buffer.of(0xff))));
const SERVES = extension('551d25', sequence(identifier('2b06010505070301')));
const CALLS = extension('551d25', sequence(identifier('2b06010505070302')));

/** A name that consists of a common name only. */
function distinguished(name: string): Buffer {
  return sequence(der(0x31, sequence(identifier('550403'), der(UTF8_STRING, Buffer.from(name)))));
}

/** The hosts that a certificate is for. */
function namesOf(hosts: readonly string[]): Buffer {
  const names = hosts.map(host =>
    /^[\d.]+$/.test(host)
      ? der(0x87, Buffer.from(host.split('.').map(Number)))
      : der(0x82, Buffer.from(host)),
  );
  return extension('551d11', sequence(...names));
}

/** `YYMMDDhhmmssZ`. */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/\D/g, '').slice(2, 14);
  return der(UTC_TIME, Buffer.from(`${digits}Z`));
}
