import { readdir } from 'node:fs/promises';

/**
 * The `*.yaml` of a folder by name, in their order; null where there is no such folder. Hidden entries are left out: what
 * editors leave behind, and Kubernetes' `..data`, which holds each file of a mounted ConfigMap a second time.
 */
export async function listYamlFiles(folder: string): Promise<string[] | null> {
  try {
    const names = await readdir(folder);
    return names.filter(name => name.endsWith('.yaml') && !name.startsWith('.')).sort();
  } catch {
    // Reading the path as a file reports what is wrong.
    return null;
  }
}
