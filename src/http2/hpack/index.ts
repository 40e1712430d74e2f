export { sectionBytes } from './encoding-table.ts';
export {
  gradeResponseField,
  HeaderDecoder,
  type HeaderSection,
  type SectionBounds,
} from './header-decoder.ts';
export { HeaderEncoder, isSecret } from './header-encoder.ts';
