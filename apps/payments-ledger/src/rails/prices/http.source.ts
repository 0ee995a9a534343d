import { parseDecimal, type Micros } from '@market/kernel';
import { textOf } from '../bounded-body.js';
import type { PriceSource } from './price-source.js';
import { microsOf } from './unit-price.js';

const MOST_BYTES = 65_536;
/** More decimals than any exchange quotes; a finer price is refused rather than cut. */
const DECIMALS = 18;
const NUMBER_OR_STRING = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

export interface HttpSettings {
  url: string;
  pricePointer: string;
  timePointer: string | null;
  timeoutMs: number;
}

/**
 * A price out of a JSON document: USD as plain decimal text or as a JSON number, which is read as it is written and never
 * becomes a float. The time is Unix seconds, Unix milliseconds or ISO 8601.
 */
export class HttpSource implements PriceSource {
  constructor(private readonly settings: HttpSettings) {}

  async read(): Promise<{ micros: Micros; at: Date }> {
    const { pricePointer, timePointer } = this.settings;
    const asked = new Date();
    const document = parseWithoutFloats(await this.fetchText());
    const price = parseDecimal(textAt(document, pricePointer), DECIMALS);
    if (price === null) throw new Error(`${pricePointer} is no plain decimal number`);
    return { micros: microsOf(price, DECIMALS), at: timePointer === null ? asked : timeOf(textAt(document, timePointer), timePointer) };
  }

  private async fetchText(): Promise<string> {
    const { url, timeoutMs } = this.settings;
    const response = await fetch(url, { headers: { accept: 'application/json' }, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) }).catch(() => undefined);
    if (!response) throw new Error('the price server does not answer');
    if (!response.ok || !response.body) {
      await response.body?.cancel();
      throw new Error(`the price server answers ${response.status}`);
    }
    return textOf(response, MOST_BYTES).catch((error: unknown) => {
      throw new Error(`the answer of the price server ${(error as Error).message}`);
    });
  }
}

/** JSON whose numbers are texts, digit for digit. @throws Error when it is no JSON. */
export function parseWithoutFloats(json: string): unknown {
  try {
    JSON.parse(json);
  } catch {
    throw new Error('the price server does not answer JSON');
  }
  return JSON.parse(json.replace(NUMBER_OR_STRING, (token) => (token.startsWith('"') ? token : `"${token}"`)));
}

/** The text or number that a JSON pointer (RFC 6901) leads to. */
function textAt(document: unknown, pointer: string): string {
  const steps = pointer.slice(1).split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const found = steps.reduce<unknown>((value, step) => (typeof value === 'object' && value !== null && Object.hasOwn(value, step) ? (value as Record<string, unknown>)[step] : undefined), document);
  if (typeof found !== 'string') throw new Error(`there is no text and no number at ${pointer}`);
  return found;
}

function timeOf(text: string, pointer: string): Date {
  if (/^\d{10}$/.test(text)) return new Date(Number(text) * 1000);
  if (/^\d{13}$/.test(text)) return new Date(Number(text));
  const time = /^\d{4}-\d{2}-\d{2}T.+(?:Z|[+-]\d{2}:\d{2})$/.test(text) ? new Date(text) : undefined;
  if (!time || Number.isNaN(time.getTime())) throw new Error(`${pointer} is no time`);
  return time;
}
