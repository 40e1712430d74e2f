export { falseBlankIn } from './odd-characters.ts';
export type { Place, PlacedMistake } from './place.ts';
export { SecretLines } from './secret-lines.ts';
export { parseYamlText, type YamlText } from './yaml-text.ts';
