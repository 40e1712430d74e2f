export { HeaderDecoder, type HeaderSection, type SectionBounds } from './header-decoder.ts';
export { HeaderEncoder } from './header-encoder.ts';
