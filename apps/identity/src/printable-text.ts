import { hiddenCharacterOf } from '@market/kernel';

/** Whether the text is readable as a name: one line that is not blank and hides no characters. */
export const isPrintable = (text: string): boolean =>
  text.trim() !== '' && hiddenCharacterOf(text, { lines: false }) === undefined;
