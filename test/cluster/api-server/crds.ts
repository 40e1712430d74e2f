import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Modules that carry custom resource definitions, and the folders that hold them. */
const SOURCES = [
  { module: 'sigs.k8s.io/gateway-api@v1.6.3', folder: 'config/crd/standard' },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    folder: 'example/prometheus-operator-crd',
  },
];

/** The files that define what the chart may make beside Kubernetes' own kinds. Fetches their modules where they are not there. */
export function crdFiles(): string[] {
  return SOURCES.flatMap(({ module, folder }) => {
    const json = execFileSync('go', ['mod', 'download', '-json', module], { encoding: 'utf8', cwd: '/' });
    const path = join((JSON.parse(json) as { readonly Dir: string }).Dir, folder);
    return readdirSync(path)
      .filter(name => name.endsWith('.yaml'))
      .map(name => join(path, name));
  });
}
