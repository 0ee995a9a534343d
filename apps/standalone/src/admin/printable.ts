/** Steers a terminal, or turns what is read around: a listing's texts are its seller's, and an operator reads them here. */
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text in which nothing but line ends and tabs steers a terminal. */
export const printable = (text: string): string =>
  text.replace(STEERING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
