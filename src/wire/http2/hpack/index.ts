export { sectionBytes } from './encoding-table.ts';
export { FieldGrade, gradeRequestField, gradeResponseField } from './field-grade.ts';
export { HeaderDecoder, type HeaderSection, type SectionBounds, TOO_LARGE } from './header-decoder.ts';
export { HeaderEncoder, isSecret } from './header-encoder.ts';
