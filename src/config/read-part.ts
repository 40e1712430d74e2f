import { join } from 'node:path';
import { z } from 'zod';
import { atOnce, thisMachine } from '../core/index.ts';
import { checkLimits } from './check/index.ts';
import * as compile from './compile/index.ts';
import { ConfigFile, type Diagnostic, type Environment, type Read, Readings } from './file/index.ts';
import { holdsLimits, readGateway } from './gateway-file.ts';
import { type CallerClaims, compileLimits, keyingOf, type LimitsConfig, readLines } from './limits/index.ts';
import { loadConfig } from './load.ts';
import * as schemas from './schema/index.ts';
import * as settings from './settings/index.ts';
import type { Outline } from './snapshot.ts';

/** The parts that can be read without the rest of the configuration. */
const PARTS = {
  'admin listener': readAdmin,
  callers: readCallers,
  keying: readKeying,
  limits: readLimits,
  outline: readOutline,
} as const;

export type PartName = keyof typeof PARTS;
export type PartRead<Name extends PartName> = Awaited<ReturnType<(typeof PARTS)[Name]>>;

/**
 * Reads a part of a configuration, for commands that need no more. Never throws because of a file's content.
 * - `admin listener`: where a gateway.yaml has it. Mistakes elsewhere, which a running gateway has not applied, do not matter
 * - `callers`: how a gateway.yaml identifies callers, and names them in the log
 * - `keying`: which addresses count as one by the limits that a gateway.yaml names
 * - `limits`: a limits.yaml, or a folder of such files, checked and compiled without a gateway.yaml
 * - `outline`: what two configurations are compared by: a gateway.yaml with the files it names, or limits on their own
 */
export function readPart<Name extends PartName>(
  name: Name,
  path: string,
  env: Environment,
): Promise<PartRead<Name>> {
  return PARTS[name](path, env) as Promise<PartRead<Name>>;
}

async function readLimits(path: string, env: Environment) {
  const { limits, files } = await compile.readLimitsAlone(path, env);
  const diagnostics = checkedAlone(files);
  if (limits === undefined || files === null || files.hasErrors) return { ok: false, diagnostics } as const;
  const { model, kept } = atOnce(compileLimits(limits, atOnce(readLines(limits.routes)).part));
  // The patterns of the lines of `routes:`, in file order.
  const patterns = kept.table.key.map(({ pattern }) => pattern);
  return { ok: true, limits: model, patterns, diagnostics } as const;
}

/** Checks limits without their gateway.yaml, and returns the findings. */
function checkedAlone(files: compile.ReadLimits['files']): Diagnostic[] {
  if (files !== null) checkLimits(files, null);
  return files?.files.flatMap(({ diagnostics }) => diagnostics) ?? [];
}

/** `whole`: null for limits on their own. */
type Compared = Read<{ readonly limits: LimitsConfig; readonly whole: Outline | null }>;

/** For a folder with a gateway.yaml, reads that file. Secrets and certificates may be missing: comparing needs none. */
async function readOutline(path: string, env: Environment): Promise<Compared> {
  const { stat } = thisMachine.files;
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory() !== true) return readOutlineIn(path, env);
  const inside = join(path, 'gateway.yaml');
  const gateway = await stat(inside).catch(() => null);
  return gateway !== null ? readOutlineIn(inside, env) : ofLimits(await compile.readLimitsAlone(path, env));
}

async function readOutlineIn(path: string, env: Environment): Promise<Compared> {
  // Read once: it may be a pipe, such as <(git show HEAD:limits.yaml).
  const file = await ConfigFile.read(path, env, new Readings(), settings.limitsSecrecy);
  if (file.value === undefined && file.hasErrors) return { ok: false, diagnostics: file.diagnostics };
  if (holdsLimits(file.value)) return ofLimits(compile.readLimitsIn([file]));
  const config = await loadConfig(path, { env, generation: 1, mayLackSecrets: true, reader: 'command' });
  if (!config.ok) return config;
  const { outline } = config.snapshot;
  return { ok: true, limits: outline.limits, whole: outline };
}

function ofLimits({ limits, files }: compile.ReadLimits): Compared {
  const diagnostics = checkedAlone(files);
  if (limits !== undefined && files?.hasErrors === false) return { ok: true, limits, whole: null };
  return { ok: false, diagnostics: diagnostics.filter(({ severity }) => severity === 'error') };
}

type AdminListener = NonNullable<z.output<typeof settings.listenSchema>['admin']>;

/** `admin`: null if the listener is off. */
async function readAdmin(
  path: string,
  env: Environment,
): Promise<Read<{ readonly admin: AdminListener | null }>> {
  const file = await ConfigFile.read(path, env, new Readings(), settings.gatewaySecrecy);
  const unknown = (message: string) => {
    const place = { file: path, line: null, column: null };
    return { ok: false, diagnostics: [{ ...place, message, severity: 'error' }] } as const;
  };
  if (file.value === undefined && !file.has(['listen', 'admin']) && file.hasErrors)
    return { ok: false, diagnostics: file.diagnostics };
  if (holdsLimits(file.value))
    return unknown('this is a limits file: name the gateway.yaml that refers to it');
  const admin = settings.listenSchema.shape.admin.safeParse(file.valueAt(['listen', 'admin']));
  return admin.success ? { ok: true, admin: admin.data } : unknown('listen.admin is not an address');
}

const { principal, bots } = settings.accessTokensSchema.shape;
const { name, issuer } = settings.providerEntrySchema.shape;
const callersSchema = z.object({
  identity_provider: z.object({ issuer }).optional(),
  access_tokens: z.object({ principal, bots }).optional(),
  identity_providers: z.array(z.object({ name, issuer, principal, bots })).optional(),
  api_keys: z.looseObject({}).optional(),
  log: settings.pseudonymKeySchema,
});

/** The claims that identify callers, none if all are addresses; and the key for pseudonyms, null if each process makes its own. */
type Callers = Read<{
  readonly classes: readonly CallerClaims[];
  readonly pseudonymKey: Buffer | null;
}>;

/** Searching the log needs neither the gateway's secrets nor the variables that contain them. */
async function readCallers(path: string, env: Environment): Promise<Callers> {
  const { file, isLimits } = await readGateway(path, env);
  const config = isLimits ? undefined : schemas.validate(file, callersSchema, settings.gatewaySchema);
  const pseudonymKey = await settings.readPseudonymKey(file);
  const isKeyMissing = pseudonymKey === null && file.has(settings.PSEUDONYM_KEY);
  if (config === undefined || isKeyMissing) return { ok: false, diagnostics: file.diagnostics };
  return { ok: true, classes: settings.claimsOf(config), pseudonymKey };
}

async function readKeying(path: string, env: Environment) {
  const { file, isLimits } = await readGateway(path, env);
  if (file.value === undefined || isLimits) return { ok: false, diagnostics: file.diagnostics } as const;
  const { limits, files } = await compile.readLimits(file, env);
  if (limits !== undefined) return { ok: true, keying: keyingOf(limits) } as const;
  const diagnostics = [file, ...(files?.files ?? [])].flatMap(each => each.diagnostics);
  return { ok: false, diagnostics } as const;
}
