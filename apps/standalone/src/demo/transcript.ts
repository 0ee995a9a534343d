import { inspect, styleText } from 'node:util';

export interface Output {
  write(text: string): unknown;
  hasColors?(): boolean;
}

/** An answer of the marketplace is not as documented. */
export class BrokenPromise extends Error {
  override readonly name = 'BrokenPromise';

  constructor(
    readonly promise: string,
    readonly found: unknown,
  ) {
    super(`Not as promised: ${promise}`);
  }
}

/** The headers that the transcript shows. */
const SHOWN_HEADERS = ['authorization', 'idempotency-key', 'x-market-relay-request-id', 'x-request-id'];
const INDENT = '     ';

/** Prints the demo: numbered steps, HTTP exchanges and checks that passed. Keys are never shown in full. */
export class Transcript {
  promisesKept = 0;
  #steps = 0;
  #isDetailed = false;
  readonly #shown = new Set<string>();

  constructor(private readonly out: Output) {}

  /**
   * @param isDetailed whether requests are shown with their bodies, the first time that an answer of a kind appears.
   */
  step(title: string, { isDetailed = false } = {}): void {
    this.#isDetailed = isDetailed;
    this.#steps += 1;
    this.#write(`\n ${this.#style('cyan', String(this.#steps).padStart(2))}  ${this.#style('bold', title)}`);
  }

  /** Prints rows whose cells are aligned in columns. */
  table(rows: string[][]): void {
    const shown = rows.map((row) => row.map(shortenSecrets));
    const width = (column: number): number => Math.max(...shown.map((row) => row[column]?.length ?? 0));
    for (const row of shown)
      this.#write(
        INDENT +
          row
            .map((cell, column) => cell.padEnd(width(column)))
            .join('   ')
            .trimEnd(),
      );
  }

  /** Checks a condition and prints it. @throws BrokenPromise with what was found instead. */
  promise(promise: string, isKept: boolean, found?: unknown): void {
    if (!isKept) throw new BrokenPromise(promise, found);
    this.promisesKept += 1;
    this.#write(`${INDENT}${this.#style('green', '✓')} ${promise}`);
  }

  /** A `fetch` that prints each request and its answer. */
  readonly fetch: typeof fetch = async (input, init) => {
    const { method, url, headers } = new Request(input, init);
    const response = await fetch(input, init);
    const { pathname } = new URL(url);
    const status = this.#style(response.ok ? 'green' : 'yellow', String(response.status));
    const kind = `${method} ${pathname} ${response.status}`;
    if (this.#isDetailed && !this.#shown.has(kind)) {
      this.#shown.add(kind);
      this.#http(`→ ${method} ${pathname}`, headers, typeof init?.body === 'string' ? init.body : '');
      this.#http(`← ${status} ${response.statusText}`, response.headers, await response.clone().text());
      this.#write('');
    } else {
      this.#write(`${INDENT}${method.padEnd(6)} ${pathname.padEnd(72)} ${status}`);
    }
    return response;
  };

  #http(title: string, headers: Headers, body: string): void {
    const shown = SHOWN_HEADERS.filter((name) => headers.has(name)).map((name) => `${name}: ${headers.get(name)}`);
    const json = body && inspect(JSON.parse(shortenSecrets(body)), { depth: null, compact: 4, breakLength: 110 });
    const lines = [...shown, ...(json ? json.split('\n') : [])].map((line) => `\n${INDENT}│ ${line}`);
    this.#write(`\n${INDENT}${title}${lines.join('')}`);
  }

  #style(style: Parameters<typeof styleText>[0], text: string): string {
    return this.out.hasColors?.() ? styleText(style, text) : text;
  }

  #write(text: string): void {
    this.out.write(`${shortenSecrets(text)}\n`);
  }
}

/** Shortens keys, secrets, addresses and digests to what is enough to recognise them. */
export function shortenSecrets(text: string): string {
  return text
    .replace(/am_k_([0-9A-Za-z]{4})[0-9A-Za-z]+/g, 'am_k_$1…')
    .replace(/whsec_([0-9A-Za-z+/]{4})[0-9A-Za-z+/=]+/g, 'whsec_$1…')
    .replace(/\b(0x)?([0-9A-Za-z]{4})[0-9A-Za-z]{24,}([0-9A-Za-z]{4})\b/g, '$1$2…$3');
}
