/** The window of a connection or stream until someone says otherwise (RFC 9113, 6.9.2). */
export const FIRST_WINDOW = 65_535;
