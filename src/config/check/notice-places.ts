import type { RouteEntry } from '../../routing/index.ts';
import { noticeRoutes } from '../compile/index.ts';
import { asMap, type ConfigFile, type Path } from '../file/index.ts';
import { NOTICE_KINDS, type NoticePlaces, type NoticeRoute } from '../model/index.ts';
import { noticeKeys } from '../schema/index.ts';

/** A provider as written. */
export interface WrittenProvider {
  readonly path: Path;
  readonly issuer: unknown;
  /** As far as they are valid in themselves. */
  readonly notices: NoticePlaces;
}

/** That of `identity_provider`, and those of `identity_providers`. */
export function writtenProviders(file: ConfigFile): readonly WrittenProvider[] {
  const { identity_provider: one, identity_providers: several } = asMap(file.value);
  const entries: readonly unknown[] = Array.isArray(several) ? several : [];
  return [
    ...(one === undefined ? [] : [written(['identity_provider'], one)]),
    ...entries.map((entry, index) => written(['identity_providers', index], entry)),
  ];
}

/** The routes of their notices on public paths. */
export function noticeRoutesIn(file: ConfigFile): readonly RouteEntry<NoticeRoute>[] {
  return noticeRoutes(writtenProviders(file).map(({ notices }) => notices));
}

function written(path: Path, provider: unknown): WrittenProvider {
  const { issuer, notices } = asMap(provider);
  const raw = asMap(notices);
  const [push = null, logout = null] = NOTICE_KINDS.map(kind => noticeKeys[kind].safeParse(raw[kind]).data);
  return { path, issuer, notices: { not_before_push: push, back_channel_logout: logout } };
}
