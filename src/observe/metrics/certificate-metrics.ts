import { Gauge, type Registry } from 'prom-client';

/** A certificate in use, read at each scrape. */
export interface CertificateView {
  /** Its key under `listen`. */
  readonly listener: string;
  /** Its file, as it is configured. */
  readonly certificate: string;
  readonly notAfterMs: number;
}

/** Registers when each certificate expires. */
export function observeCertificates(
  registry: Registry,
  certificates: () => readonly CertificateView[],
): void {
  new Gauge({
    name: 'weir_tls_certificate_expiry_timestamp_seconds',
    help: 'When each certificate in use expires, by listener and file. Alert two weeks ahead.',
    labelNames: ['listener', 'certificate'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { listener, certificate, notAfterMs } of certificates())
        this.set({ listener, certificate }, notAfterMs / 1_000);
    },
  });
}
