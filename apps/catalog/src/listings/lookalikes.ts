/** Letters that look like a Latin letter; these are the most common in imitated names. */
const LETTERS = 'АВЕЅІЈКМНОРСТХУԚԜаеѕіјорсухһԁԛԝѵΑΒΕΖΗΙΚΜΝΟΡΤΥΧανικορυγօոսհցɡɑıǃ';
const LATIN = 'ABESIJKMHOPCTXYQWaesijopcyxhdqwvABEZHIKMNOPTYXavikopuyonuhggail';

const [FROM, TO] = [[...LETTERS], [...LATIN]];
export const LOOKALIKES: ReadonlyMap<string, string> = new Map(FROM.map((letter, index) => [letter, TO[index]!]));

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const LATIN_LETTER = /\p{Script=Latin}/u;
const FOREIGN_LETTER = /(?!\p{Script=Latin})\p{L}/u;

/** Replaces the lookalikes in a word if the result is a Latin word; otherwise returns the word unchanged. */
export function readAsLatin(word: string): string {
  const read = [...word].map((letter) => LOOKALIKES.get(letter) ?? letter).join('');
  return FOREIGN_LETTER.test(read) ? word : read;
}

/** Returns the first word that mixes alphabets and reads as a Latin word. */
export function disguisedWord(text: string): string | undefined {
  return text
    .normalize('NFKC')
    .match(WORD)
    ?.find((word) => LATIN_LETTER.test(word) && FOREIGN_LETTER.test(word) && readAsLatin(word) !== word);
}

export const replaceWords = (text: string, replace: (word: string) => string): string => text.replace(WORD, replace);
