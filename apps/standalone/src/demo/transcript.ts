import { styleText } from 'node:util';
import { foldJson } from './fold-json.js';
import type { Exchange } from './wire-tap.js';

type Style = Parameters<typeof styleText>[0];

export interface Output {
  write(text: string): unknown;
  columns?: number;
  hasColors?(): boolean;
}

/** Something is not as the marketplace promises. */
export class BrokenPromise extends Error {
  override readonly name = 'BrokenPromise';

  constructor(
    readonly promise: string,
    readonly found: unknown,
  ) {
    super(`Not as promised: ${promise}`);
  }
}

/** The headers worth a reader's time, in the order in which they are told. */
const TOLD_REQUEST_HEADERS = ['Authorization', 'Content-Type', 'Idempotency-Key', 'X-Market-Relay-Request-Id'];
const TOLD_RESPONSE_HEADERS = ['Content-Type', 'Cache-Control', 'Retry-After', 'Idempotency-Replayed', 'X-Request-Id'];
const WIDEST = 110;
const INDENT = '     ';

/** Writes the story down: numbered steps, aligned facts, whole exchanges, promises kept. Keys never appear in full. */
export class Transcript {
  #step = 0;
  #promises = 0;
  #isAfterExchange = false;

  constructor(private readonly out: Output) {}

  get promisesKept(): number {
    return this.#promises;
  }

  heading(title: string, facts: string[]): void {
    this.#line(`\n ${this.#style('bold', title)}`);
    for (const fact of facts) this.#line(` ${this.#style('dim', fact)}`);
  }

  step(title: string): void {
    this.#step += 1;
    this.#line(`\n ${this.#style('cyan', String(this.#step).padStart(2))}  ${this.#style('bold', title)}`);
  }

  say(text: string): void {
    this.#line(INDENT + text);
  }

  /** Rows of cells under each other; columns of money align to the right. */
  table(rows: string[][], { head, right = [] }: { head?: string[]; right?: number[] } = {}): void {
    const shown = [...(head ? [head] : []), ...rows].map((row) => row.map(shortenSecrets));
    const widths = (shown[0] ?? []).map((_, column) => Math.max(...shown.map((row) => (row[column] ?? '').length)));
    shown.forEach((row, index) => {
      const cells = row.map((cell, column) =>
        right.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      );
      const text = cells.join('   ').trimEnd();
      this.#line(INDENT + (head && index === 0 ? this.#style('dim', text) : text));
    });
  }

  /** The exchange in one line. */
  brief({ method, path, status, milliseconds }: Exchange): void {
    const answer = `${this.#status(status)}${this.#style('dim', `${String(milliseconds).padStart(6)} ms`)}`;
    const shortPath = shortenIds(shortenSecrets(path.replace(/\?.*/, '')));
    this.#line(`${INDENT}${method.padEnd(6)} ${shortPath.padEnd(46)} ${answer}`);
  }

  /** The exchange as HTTP. */
  full(exchange: Exchange): void {
    const { method, path, status, statusText, milliseconds } = exchange;
    this.#http('→', [
      this.#style('bold', `${method} ${path}`),
      ...this.#headers(exchange.requestHeaders, TOLD_REQUEST_HEADERS),
      ...this.#body(exchange.requestBody),
    ]);
    this.#http('←', [
      `${this.#status(status)} ${this.#style('bold', statusText)}${this.#style('dim', `   after ${milliseconds} ms`)}`,
      ...this.#headers(exchange.responseHeaders, TOLD_RESPONSE_HEADERS),
      ...this.#body(exchange.responseBody),
    ]);
    this.#isAfterExchange = true;
  }

  /** Holds the marketplace to its word. @throws BrokenPromise with what was found instead. */
  promise(promise: string, isKept: boolean, found?: unknown): void {
    if (!isKept) throw new BrokenPromise(promise, found);
    this.#promises += 1;
    this.#line(`${INDENT}${this.#style('green', '✓')} ${promise}`);
  }

  #http(arrow: string, lines: string[]): void {
    this.#isAfterExchange = true;
    const text = lines.join('\n').split('\n');
    text.forEach((line, index) => this.#line(`${INDENT}${this.#style('dim', index === 0 ? arrow : '│')} ${line}`));
  }

  #headers(headers: Headers, told: string[]): string[] {
    return told.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [`${this.#style('dim', `${name}:`)} ${value}`];
    });
  }

  #body(body: string | undefined): string[] {
    if (!body) return [];
    return [foldJson(JSON.parse(shortenSecrets(body)), Math.min(this.out.columns ?? WIDEST, WIDEST) - INDENT.length - 2)];
  }

  #status(status: number): string {
    const style: Style = status < 300 ? 'green' : status === 402 ? 'yellow' : 'red';
    return this.#style(style, String(status));
  }

  #style(style: Style, text: string): string {
    return this.out.hasColors?.() ? styleText(style, text) : text;
  }

  #line(text: string): void {
    if (this.#isAfterExchange && !text.startsWith('\n')) this.out.write('\n');
    this.#isAfterExchange = false;
    this.out.write(`${shortenSecrets(text)}\n`);
  }
}

/** Uuids by their ends, where they only have to be told apart. */
export function shortenIds(text: string): string {
  return text.replace(/\b([0-9a-f]{4})[0-9a-f]{4}(?:-[0-9a-f]{4}){3}-[0-9a-f]{8}([0-9a-f]{4})\b/g, '$1…$2');
}

/** Leaves enough of a key, a secret, an address or a digest to recognise it. */
export function shortenSecrets(text: string): string {
  return text
    .replace(/am_k_([0-9A-Za-z]{4})[0-9A-Za-z]+/g, 'am_k_$1…')
    .replace(/whsec_([0-9A-Za-z+/]{4})[0-9A-Za-z+/=]+/g, 'whsec_$1…')
    .replace(/\b(0x)?([0-9A-Za-z]{4})[0-9A-Za-z]{24,}([0-9A-Za-z]{4})\b/g, '$1$2…$3');
}
