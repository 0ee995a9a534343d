import { microsFromUsdNumber } from '@market/kernel';
import { z } from 'zod';

/*
 * The kinds of fields of JSON bodies. Each states its rule in one sentence, and adds to the OpenAPI document what JSON
 * Schema can express of it. Texts are measured in Unicode code points, not in units of UTF-16.
 */

/** Far below the amounts at which a JSON number no longer represents micros exactly. */
const MAX_PRICE_USD = 1_000_000;
const MAX_URL_LENGTH = 2_048;
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;
const MIN_TIME_MS = Date.UTC(1970, 0, 1);
const MAX_TIME_MS = Date.UTC(9999, 11, 31);

const textThat = (error: string, holds: (text: string) => boolean) => z.string({ error }).refine(holds, { error });

export const text = (minLength: number, maxLength: number) =>
  textThat(`must be text of ${minLength} to ${maxLength} characters`, (value) => {
    const length = lengthOf(value);
    return length >= minLength && length <= maxLength;
  }).meta({ minLength, maxLength });

export const textList = (maxItems: number, maxLength: number) =>
  z.array(text(1, maxLength)).max(maxItems, { error: `must be a list of at most ${maxItems} texts` });

/** Any JSON object whose text has at most `maxBytes` bytes. */
export const jsonObject = (maxBytes: number) => {
  const error = `must be a JSON object of at most ${maxBytes} bytes`;
  return z
    .record(z.string(), z.unknown(), { error })
    .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= maxBytes, { error });
};

export const httpUrl = textThat(`must be an http or https URL of at most ${MAX_URL_LENGTH} characters`, isHttpUrl).meta(
  { format: 'uri', maxLength: MAX_URL_LENGTH },
);

/** A timestamp that `parseTimestamp` can read. */
export const instant = textThat(
  'must be an ISO 8601 timestamp with a time zone',
  (value) => parseTimestamp(value) !== undefined,
).meta({ format: 'date-time' });

export function wholeNumber(min: number, max: number) {
  const error = `must be an integer from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

const AMOUNT_PROBLEM = `must be a number of US dollars from 0 to ${MAX_PRICE_USD} with at most 6 decimals`;
export const usdAmount = z
  .number({ error: AMOUNT_PROBLEM })
  .refine((usd) => usd <= MAX_PRICE_USD && microsFromUsdNumber(usd) !== null, { error: AMOUNT_PROBLEM })
  .meta({ minimum: 0, maximum: MAX_PRICE_USD });

/** At least one of the values, without repetition. */
export const someOf = <T extends z.ZodEnum>(values: T) => {
  const error = `must be a list of different values out of ${values.options.join(', ')}`;
  return z
    .array(values, { error })
    .min(1, { error })
    .refine((items) => new Set(items).size === items.length, { error })
    .meta({ uniqueItems: true });
};

/** The number of code points, as PostgreSQL counts characters. */
export function lengthOf(value: string): number {
  let length = 0;
  for (const _ of value) length += 1;
  return length;
}

/**
 * Converts a timestamp to ISO 8601 as the services write it (milliseconds, UTC). A date without a time is midnight in
 * UTC. Undefined if the text is not a time from 1970 to 9999.
 */
export function parseTimestamp(value: string): string | undefined {
  const ms = TIMESTAMP.test(value) ? Date.parse(value) : NaN;
  return ms >= MIN_TIME_MS && ms <= MAX_TIME_MS ? new Date(ms).toISOString() : undefined;
}

/**
 * Whether the text is an absolute URL without credentials and without characters that a parser would silently remove.
 */
export function isHttpUrl(value: string): boolean {
  if (value.length > MAX_URL_LENGTH || /[\s\p{Cc}]/u.test(value) || !URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === '';
}
