export { falseBlankIn } from './odd-characters.ts';
export type { Place, PlacedError } from './place.ts';
export { SecretLines } from './secret-lines.ts';
export { parseYamlText, type YamlText } from './yaml-text.ts';
