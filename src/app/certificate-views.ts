import type { ListenModel } from '../config/index.ts';
import type { CertificateView } from '../observe/index.ts';

/** The certificates of all listeners, for the status page and the metrics. */
export function certificateViews({ http, grpc, admin }: ListenModel): CertificateView[] {
  return Object.entries({ http, grpc, admin }).flatMap(([listener, model]) =>
    (model?.tls?.certificates ?? []).map(({ name, notAfterMs }) => ({
      listener,
      certificate: name,
      notAfterMs,
    })),
  );
}
