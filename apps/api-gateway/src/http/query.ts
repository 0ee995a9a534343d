import { lengthOf, parseTimestamp } from '@market/contracts';
import { formatDecimal, isUuid, parseDecimal } from '@market/kernel';
import { requestInvalid, type FieldProblem } from './edge-refusals.js';
import { isFitText } from './fit-text.js';

/** One query parameter: how its text is parsed, and how it is documented. */
export interface Param<T> {
  /** Returns undefined if the text is invalid. */
  read(text: string): T | undefined;
  problem: string;
  fallback: T;
  schema: Record<string, unknown>;
  description?: string;
}

type QueryShape = Record<string, Param<unknown>>;
export type QueryOf<S extends QueryShape> = { [K in keyof S]: S[K] extends Param<infer T> ? T : never };

/** Accepts only digits, within the bounds. */
export const integerParam = (min: number, max: number, fallback: number): Param<number> => ({
  read: (text) => (/^\d{1,10}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined),
  problem: `must be an integer from ${min} to ${max}`,
  fallback,
  schema: { type: 'integer', minimum: min, maximum: max, default: fallback },
});

/** Like `integerParam`, but reduces a greater value to the maximum, as clients of other services expect. */
export const cutParam = (min: number, max: number, fallback: number): Param<number> => ({
  ...integerParam(min, max, fallback),
  read: (text) => (/^\d{1,10}$/.test(text) && Number(text) >= min ? Math.min(Number(text), max) : undefined),
  problem: `must be an integer of at least ${min}`,
  schema: { type: 'integer', minimum: min, default: fallback },
  description: `At most ${max} are given.`,
});

export function choiceParam<const T extends string>(values: readonly T[]): Param<T | undefined>;
export function choiceParam<const T extends string>(values: readonly T[], fallback: T): Param<T>;
export function choiceParam<const T extends string>(values: readonly T[], fallback?: T): Param<T | undefined> {
  return {
    read: (text) => values.find((value) => value === text),
    problem: `must be one of ${values.join(', ')}`,
    fallback,
    schema: { type: 'string', enum: values, ...(fallback === undefined ? {} : { default: fallback }) },
  };
}

export const flagParam = (description?: string): Param<boolean> => ({
  read: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  problem: 'must be true or false',
  fallback: false,
  schema: { type: 'boolean', default: false },
  description,
});

export const textParam = (max: number, description?: string): Param<string | undefined> => ({
  read: (text) => (isFitText(text) && lengthOf(text) <= max ? text : undefined),
  problem: `must be text of at most ${max} characters`,
  fallback: undefined,
  schema: { type: 'string', maxLength: max },
  description,
});

export const uuidParam = (description?: string): Param<string | undefined> => ({
  read: (text) => (isUuid(text) ? text.toLowerCase() : undefined),
  problem: 'must be a uuid',
  fallback: undefined,
  schema: { type: 'string', format: 'uuid' },
  description,
});

export const timestampParam = (description?: string): Param<string | undefined> => ({
  read: parseTimestamp,
  problem: 'must be an ISO 8601 date, or timestamp with a time zone',
  fallback: undefined,
  schema: { type: 'string', format: 'date-time' },
  description,
});

/** Parses a decimal number from 0 to 1, as rates are shown. */
export const rateParam = (description?: string): Param<number | undefined> => ({
  read: (text) => (/^(?:0(?:\.\d{1,4})?|1(?:\.0{1,4})?)$/.test(text) ? Number(text) : undefined),
  problem: 'must be a decimal number from 0 to 1 with at most 4 decimals',
  fallback: undefined,
  schema: { type: 'number', minimum: 0, maximum: 1 },
  description,
});

/** Parses different values of a list, which are separated by commas. */
export const choicesParam = <const T extends string>(values: readonly T[], description?: string): Param<T[]> => ({
  read(text) {
    const given = text.split(',');
    const known = values.filter((value) => given.includes(value));
    return known.length === given.length ? known : undefined;
  },
  problem: `must be different ones of ${values.join(', ')}, separated by commas`,
  fallback: [],
  schema: { type: 'string' },
  description,
});

const MAX_MICROS = 10n ** 18n - 1n;

/** Parses plain decimal US dollars to micros, as decimal text. */
export const usdParam = (description?: string): Param<string | undefined> => ({
  read(text) {
    const micros = parseDecimal(text, 6);
    return micros === null || micros > MAX_MICROS ? undefined : micros.toString();
  },
  problem: `must be a decimal number of US dollars from 0 to ${formatDecimal(MAX_MICROS, 6)} with at most 6 decimals`,
  fallback: undefined,
  schema: { type: 'number', minimum: 0 },
  description,
});

/** `page` and `limit` of every paginated operation. A page past the end is empty, not an error. */
export const pageParams = (maxLimit: number) => ({
  page: integerParam(1, 1_000_000_000, 1),
  limit: integerParam(1, maxLimit, 20),
});

/** The parameters of lists that grow while clients page through them. */
export const cursorParams = (maxLimit: number) => ({
  ...pageParams(maxLimit),
  cursor: uuidParam(
    'pagination.next_cursor of the page before, in place of page: what is new since then neither repeats nor hides an item.',
  ),
});

/** @throws Refusal that names every unknown, repeated or invalid parameter. */
export function readQuery<S extends QueryShape>(shape: S, raw: object): QueryOf<S> {
  const values: Record<string, unknown> = {};
  const problems: FieldProblem[] = [];
  for (const name in shape) values[name] = shape[name]!.fallback;
  for (const [name, given] of Object.entries(raw)) {
    const param = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (!param) problems.push({ field: name, message: 'is not a parameter of this operation' });
    else if (typeof given !== 'string') problems.push({ field: name, message: 'must be given once' });
    else if ((values[name] = param.read(given)) === undefined) problems.push({ field: name, message: param.problem });
  }
  if (problems.length > 0) throw requestInvalid(problems.slice(0, 100));
  return values as QueryOf<S>;
}
