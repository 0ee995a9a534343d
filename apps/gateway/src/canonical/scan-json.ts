import { isUtf8 } from 'node:buffer';
import { isExactDouble } from './exact-number.js';
import { JsonRejected, type JsonRejectionReason } from './json-rejected.error.js';
import type { JsonRules } from './json-rules.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_E = 0x65;
const LOWER_U = 0x75;
const SIMPLE_ESCAPES = new Set([...'"\\/bfnrt'].map((character) => character.charCodeAt(0)));
/** Any decimal of up to 15 digits survives the trip through a double. */
const ALWAYS_EXACT_DIGITS = 15;

export interface ScannedJson {
  /** The text, exactly as given. */
  text: string;
  root: 'object' | 'array' | 'scalar';
}

/**
 * Checks a JSON text against the rules in one pass: linear in its length and without recursion, so that it also judges texts
 * that `JSON.stringify` and `canonicalize` would not survive.
 * @throws {JsonRejected} and nothing else.
 */
export function scanJson(raw: Uint8Array | string, rules: JsonRules): ScannedJson {
  const text = typeof raw === 'string' ? raw : decode(raw);
  if (text.charCodeAt(0) === 0xfeff) throw new JsonRejected('byte_order_mark', 0);
  return { text, root: new Scanner(text, rules).scan() };
}

function decode(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw new JsonRejected('invalid_utf8', 0);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** An array or object not yet closed. */
interface Container {
  isObject: boolean;
  /** The key whose value is being read. */
  key: string;
  /** Keys read so far, kept only where the rules ask for unique ones. */
  keys: Set<string> | null;
}

class Scanner {
  private at = 0;
  private keyCount = 0;
  private readonly open: Container[] = [];

  constructor(
    private readonly text: string,
    private readonly rules: JsonRules,
  ) {}

  scan(): ScannedJson['root'] {
    const first = this.skipSpace();
    for (;;) {
      if (this.openContainer()) continue;
      if (this.closeContainers()) {
        return first === OPEN_OBJECT ? 'object' : first === OPEN_ARRAY ? 'array' : 'scalar';
      }
    }
  }

  /** Reads the start of a value. True when a value inside it comes next, false when the value is complete. */
  private openContainer(): boolean {
    const code = this.skipSpace();
    if (code !== OPEN_OBJECT && code !== OPEN_ARRAY) {
      this.readScalar(code);
      return false;
    }
    const isObject = code === OPEN_OBJECT;
    if (this.open.length === this.rules.maxDepth) this.reject('too_deep');
    this.at++;
    if (this.skipSpace() === (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
      this.at++;
      return false;
    }
    this.open.push({ isObject, key: '', keys: isObject && this.rules.uniqueKeys ? new Set() : null });
    if (isObject) this.readKey();
    return true;
  }

  /** After a complete value: closes what ends here. True when the whole text is complete, false when another value follows. */
  private closeContainers(): boolean {
    for (;;) {
      const container = this.open[this.open.length - 1];
      const code = this.skipSpace();
      if (container === undefined) {
        if (this.at < this.text.length) this.reject('invalid_json');
        return true;
      }
      if (code === COMMA) {
        this.at++;
        if (container.isObject) this.readKey();
        return false;
      }
      if (code !== (container.isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) this.reject('invalid_json');
      this.at++;
      this.open.pop();
    }
  }

  private readKey(): void {
    if (this.skipSpace() !== QUOTE) this.reject('invalid_json');
    const start = this.at;
    if (++this.keyCount > this.rules.maxKeys) this.reject('too_many_keys');
    const escaped = this.readString();
    if (this.rules.uniqueKeys || this.rules.forbidPrototypeKeys) this.admitKey(start, escaped);
    if (this.skipSpace() !== COLON) this.reject('invalid_json');
    this.at++;
  }

  private admitKey(start: number, escaped: boolean): void {
    const container = this.open[this.open.length - 1]!;
    const key = escaped
      ? (JSON.parse(this.text.slice(start, this.at)) as string)
      : this.text.slice(start + 1, this.at - 1);
    if (this.rules.forbidPrototypeKeys) {
      const insideConstructor = this.open[this.open.length - 2]?.key === 'constructor';
      if (key === '__proto__' || (key === 'prototype' && insideConstructor)) this.reject('forbidden_key', start);
    }
    if (container.keys?.has(key)) this.reject('duplicate_key', start);
    container.keys?.add(key);
    container.key = key;
  }

  private readScalar(code: number): void {
    if (code === QUOTE) this.readString();
    else if (code === MINUS || isDigit(code)) this.readNumber();
    else if (code === 0x74) this.readWord('true');
    else if (code === 0x66) this.readWord('false');
    else if (code === 0x6e) this.readWord('null');
    else this.reject('invalid_json');
  }

  private readWord(word: string): void {
    if (!this.text.startsWith(word, this.at)) this.reject('invalid_json');
    this.at += word.length;
  }

  /** Moves past a string that starts here. True when it holds an escape. */
  private readString(): boolean {
    const { text } = this;
    let escaped = false;
    this.at++;
    for (;;) {
      const code = text.charCodeAt(this.at);
      if (code === QUOTE) break;
      if (code === BACKSLASH) {
        escaped = true;
        this.readEscape();
      } else if (code >= 0xd800 && code <= 0xdfff) {
        // Only a JavaScript string can hold half a pair; no bytes on the wire could.
        if (!isHighSurrogate(code) || !isLowSurrogate(text.charCodeAt(this.at + 1))) this.reject('invalid_utf8');
        this.at += 2;
      } else if (code >= 0x20) {
        this.at++;
      } else {
        this.reject('invalid_json');
      }
    }
    this.at++;
    return escaped;
  }

  private readEscape(): void {
    const start = this.at;
    const code = this.text.charCodeAt(start + 1);
    this.at += 2;
    if (SIMPLE_ESCAPES.has(code)) return;
    if (code !== LOWER_U) this.reject('invalid_json', start);
    const unit = this.readHex(start + 2);
    this.at += 4;
    if (unit === 0 && this.rules.forbidNul) this.reject('nul_character', start);
    if (!this.rules.pairedSurrogates || unit < 0xd800 || unit > 0xdfff) return;
    const pairFollows = isHighSurrogate(unit) && this.text.startsWith('\\u', this.at);
    if (!pairFollows || !isLowSurrogate(this.readHex(this.at + 2))) this.reject('lone_surrogate', start);
    this.at += 6;
  }

  private readHex(start: number): number {
    let value = 0;
    for (let index = start; index < start + 4; index++) {
      const digit = hexValue(this.text.charCodeAt(index));
      if (digit < 0) this.reject('invalid_json', index);
      value = value * 16 + digit;
    }
    return value;
  }

  private readNumber(): void {
    const start = this.at;
    if (this.text.charCodeAt(this.at) === MINUS) this.at++;
    const leadingZero = this.text.charCodeAt(this.at) === ZERO;
    let digits = this.readDigits();
    if (leadingZero && digits > 1) this.reject('invalid_json', start);
    if (this.text.charCodeAt(this.at) === DOT) {
      this.at++;
      digits += this.readDigits();
    }
    let exact = digits <= ALWAYS_EXACT_DIGITS;
    if ((this.text.charCodeAt(this.at) | 0x20) === LOWER_E) {
      exact = false;
      this.at++;
      const sign = this.text.charCodeAt(this.at);
      if (sign === PLUS || sign === MINUS) this.at++;
      this.readDigits();
    }
    if (this.rules.exactNumbers && !exact && !isExactDouble(this.text.slice(start, this.at))) {
      this.reject('unsafe_number', start);
    }
  }

  /** Moves past at least one digit and returns how many there were. */
  private readDigits(): number {
    const start = this.at;
    while (isDigit(this.text.charCodeAt(this.at))) this.at++;
    if (this.at === start) this.reject('invalid_json');
    return this.at - start;
  }

  /** Moves past white space and returns the character code there; NaN at the end. */
  private skipSpace(): number {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
      this.at++;
    }
  }

  private reject(reason: JsonRejectionReason, offset = this.at): never {
    throw new JsonRejected(reason, offset);
  }
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

function hexValue(code: number): number {
  if (isDigit(code)) return code - ZERO;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
