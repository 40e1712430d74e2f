import type { Files } from '../../core/index.ts';

/**
 * Lists the `*.yaml` files of a folder, sorted by name; `null` if there is no such folder. Skips hidden entries: leftovers of
 * editors, and Kubernetes' `..data`, which contains every file of a mounted ConfigMap again.
 */
export async function listYamlFiles(folder: string, files: Files): Promise<string[] | null> {
  try {
    const names = await files.readdir(folder);
    return names.filter(name => name.endsWith('.yaml') && !name.startsWith('.')).sort();
  } catch {
    // Reading the path as a file reports what is wrong.
    return null;
  }
}
