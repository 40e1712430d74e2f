/** What of a JSON Schema is looked at. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
}

/** Every key of a configuration file with its parents, without names of the operator's: `upstreams.timeouts.connect`. */
export function keyPaths(schema: Schema): string[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => [
    key,
    ...keyPaths(inner).map(path => `${key}.${path}`),
  ]);
  return [...own, ...partsOf(schema).flatMap(keyPaths)];
}

/** Every word that a value may be, such as `client_secret_basic`. */
export function valueWords(schema: Schema): string[] {
  const own = [...(schema.enum ?? []), schema.const].filter(word => typeof word === 'string');
  return [...own, ...[...Object.values(schema.properties ?? {}), ...partsOf(schema)].flatMap(valueWords)];
}

/** The schemas of what has no name in the schema itself. */
function partsOf({ additionalProperties, items, anyOf = [] }: Schema): Schema[] {
  return [additionalProperties, items, ...anyOf].filter(part => typeof part === 'object');
}
