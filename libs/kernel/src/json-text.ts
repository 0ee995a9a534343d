/** What `JSON.parse` loses of a text without saying so. */
export interface JsonLoss {
  /** A key that an object of the text has twice; only the last value would be read. */
  repeatedKey: string | undefined;
  /** A number of the text that no double holds, so that another number would be read. */
  inexactNumber: string | undefined;
}

/** A double holds every decimal of this many digits without an exponent. */
const EXACT_DIGITS = 15;

const [QUOTE, COLON, BACKSLASH, MINUS] = ['"', ':', '\\', '-'].map((character) => character.charCodeAt(0));
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = ['[', ']', '{', '}'].map((each) => each.charCodeAt(0));
const [ZERO, NINE] = ['0', '9'].map((digit) => digit.charCodeAt(0)) as [number, number];
const NUMBER_PARTS = new Set(Array.from('0123456789.eE+-', (part) => part.charCodeAt(0)));

/** The keys of an object so far. Most objects are many and small, so the first key is no set. */
type Keys = string | Set<string> | undefined;

/**
 * Reads characters and makes no matches, because strangers send bodies of many thousand small values.
 * @param text JSON that `JSON.parse` accepts.
 */
export function lossOf(text: string): JsonLoss {
  const loss: JsonLoss = { repeatedKey: undefined, inexactNumber: undefined };
  const open: Keys[] = [];
  let [stringStart, stringEnd] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) {
      stringStart = at;
      at = stringEnd = endOfJsonString(text, at);
    } else if (character === OPEN_OBJECT || character === OPEN_ARRAY) open.push(undefined);
    else if (character === CLOSE_OBJECT || character === CLOSE_ARRAY) open.pop();
    else if (character === COLON) {
      const key = stringIn(text.slice(stringStart, stringEnd + 1));
      const keys = open[open.length - 1];
      if (keys === key || (keys instanceof Set && keys.has(key))) loss.repeatedKey ??= key;
      open[open.length - 1] = withKey(keys, key);
    } else if (character === MINUS || (character >= ZERO && character <= NINE)) {
      const start = at;
      while (NUMBER_PARTS.has(text.charCodeAt(at + 1))) at += 1;
      const number = text.slice(start, at + 1);
      if (!isExact(number)) loss.inexactNumber ??= number;
    }
  }
  return loss;
}

/** Where a string of valid JSON ends, of which `start` is the opening quote. */
export function endOfJsonString(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) return at;
    if (character === BACKSLASH) at += 1;
  }
}

const stringIn = (token: string): string => (token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1));

function withKey(keys: Keys, key: string): Keys {
  if (keys === undefined) return key;
  return keys instanceof Set ? keys.add(key) : new Set([keys, key]);
}

function isExact(number: string): boolean {
  if (number.length <= EXACT_DIGITS && !/e/i.test(number)) return true;
  const read = Number(number);
  return Number.isFinite(read) && decimalOf(number) === decimalOf(String(read));
}

/** The same text for every spelling of a number; `-0` is 0. */
function decimalOf(number: string): string {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number)!;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return end === 0 ? '0' : `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}
