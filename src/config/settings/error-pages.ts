import { dirname, resolve } from 'node:path';
import { type ConfigFile, readConfigFile } from '../file/index.ts';
import { text, unshown } from '../values/index.ts';
import { setting } from './setting.ts';

/** The statuses of errors that may have a page of their own: those that the gateway answers with, without 429. */
const STATUSES = [
  ...[400, 401, 403, 404, 405, 408, 413, 415, 417, 426, 431, 500, 501, 502, 503, 504, 505],
  ...(['4xx', '5xx'] as const),
];
type PageOf = number | '4xx' | '5xx';
const MAX_BYTES = 65_536;

/** The pages by the statuses that they are for. Each character is one byte. */
export type ErrorPages = ReadonlyMap<PageOf, string>;

export const errorPages = setting({
  keys: {
    error_pages: unshown(text('write the path of a folder'))
      .optional()
      .describe(
        'A folder with pages for browsers that meet an error of the gateway: 404.html, 4xx.html, 5xx.html and the like, each up to 64 KiB. {status}, {message} and {request_id} stand for what they say. Relative to this file. Left out: error objects for everyone.',
      ),
  },
  read: async file => ({ pages: await readPages(file) }),
  withoutSecrets: () => ({ pages: null as ErrorPages | null }),
  compile: (_, __, { pages }): { readonly errorPages: ErrorPages | null } => ({ errorPages: pages }),
});

const AT = ['error_pages'];

/** Reads the pages; `null` if there are none. A page that is not there is followed: it may come later. */
async function readPages(file: ConfigFile): Promise<ErrorPages | null> {
  const folder = file.valueAt(AT);
  if (typeof folder !== 'string' || folder === '') return null;
  const pages = new Map<PageOf, string>();
  let isAbsent = true;
  for (const status of STATUSES) {
    const path = resolve(dirname(file.name), folder, `${status}.html`);
    const read = await readConfigFile(path, file.readings.files);
    file.readings.note(path, 'text', read);
    const add = (why: string) => file.add(AT, `${status}.html: ${why}`, { isContent: true });
    if (read.ok && read.bytes.length <= MAX_BYTES) pages.set(status, read.bytes.toString('latin1'));
    else if (read.ok) add('a page has at most 64 KiB');
    else if (read.reason !== 'no such file') add(read.reason);
    isAbsent &&= !read.ok && read.reason === 'no such file';
  }
  if (isAbsent)
    file.add(AT, 'there is no page in this folder, or no folder: write 4xx.html and 5xx.html into it', {
      isContent: true,
    });
  return pages.size === 0 ? null : pages;
}
