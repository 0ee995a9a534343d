/** The flags of England, Scotland and Wales, the only use of tag characters that is seen. */
const FLAGS = /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}/gu;
/**
 * Controls, unpaired surrogates, separators of lines, and formats (directions, spaces without width, tags). Emoji and
 * Persian need joiners, and some signs of Arabic and Kaithi are seen although Unicode calls them formats.
 */
const HIDDEN =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u200c\u200d\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])\p{Cf}/u;

/**
 * Returns the first character of a text that a reader cannot see or that changes how the text around it is shown, as
 * `U+200B`; undefined if there is none.
 * @param lines whether tabs and line ends are allowed.
 */
export function hiddenCharacterOf(text: string, { lines }: { lines: boolean }): string | undefined {
  const shown = (lines ? text.replace(/[\t\n\r]/g, ' ') : text).replace(FLAGS, '');
  const [hidden] = HIDDEN.exec(shown) ?? [];
  return hidden && `U+${hidden.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
}
