import { RELAY_REQUEST_ID_PATTERN } from '@market/contracts';
import { isUuid, microsFromUsdNumber } from '@market/kernel';
import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Type as TypeOf } from 'class-transformer';
import { ValidateBy, ValidateIf, ValidateNested } from 'class-validator';
import { isHttpUrl, lengthOf, parseTimestamp } from './values.js';

/**
 * The kinds of field a JSON body can have. Each says one rule in one sentence, to the validator and to the OpenAPI
 * document alike. Texts are measured in Unicode code points. Optional means that it may be left out, which null is not.
 */
interface FieldOptions {
  optional?: boolean;
  description?: string;
  /** What the service takes when the field is left out; shown, not applied. */
  default?: unknown;
}

/** USD; far below where a JSON number stops naming micros exactly. */
export const MAX_PRICE_USD = 1_000_000;

const isString = (value: unknown): value is string => typeof value === 'string';

/** `nullable`: null clears what is stored. */
export const Text = ({ min = 0, max, nullable = false, ...options }: FieldOptions & { min?: number; max: number; nullable?: boolean }): PropertyDecorator =>
  field(
    options,
    { type: String, minLength: min, maxLength: max, nullable },
    `must be text of ${min} to ${max} characters${nullable ? ', or null' : ''}`,
    (value) => (isString(value) && lengthOf(value) >= min && lengthOf(value) <= max) || (nullable && value === null),
  );

export const Flag = (options: FieldOptions = {}): PropertyDecorator => field(options, { type: Boolean }, 'must be true or false', (value) => typeof value === 'boolean');

export const OneOf = (values: readonly string[], options: FieldOptions = {}): PropertyDecorator =>
  field(options, { type: String, enum: [...values] }, `must be one of ${values.join(', ')}`, (value) => isString(value) && values.includes(value));

export const Uuid = (options: FieldOptions = {}): PropertyDecorator => field(options, { type: String, format: 'uuid' }, 'must be a uuid', (value) => isString(value) && isUuid(value));

export const RelayRequestId = (options: FieldOptions = {}): PropertyDecorator =>
  field(options, { type: String, pattern: RELAY_REQUEST_ID_PATTERN.source }, 'must be 0x and 64 lower-case hex digits', (value) => isString(value) && RELAY_REQUEST_ID_PATTERN.test(value));

export const HttpUrl = (options: FieldOptions = {}): PropertyDecorator =>
  field(options, { type: String, format: 'uri', maxLength: 2048 }, 'must be an http or https URL of at most 2048 characters', (value) => isString(value) && isHttpUrl(value));

export const Instant = (options: FieldOptions = {}): PropertyDecorator =>
  field(options, { type: String, format: 'date-time' }, 'must be an ISO 8601 timestamp with a time zone', (value) => isString(value) && parseTimestamp(value) !== undefined);

/** `nullable`: null means that there is no bound. */
export const WholeNumber = ({ min, max, nullable = false, ...options }: FieldOptions & { min: number; max: number; nullable?: boolean }): PropertyDecorator =>
  field(
    options,
    { type: 'integer', minimum: min, maximum: max, nullable },
    `must be an integer from ${min} to ${max}${nullable ? ', or null' : ''}`,
    (value) => (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) || (nullable && value === null),
  );

export const UsdAmount = (options: FieldOptions = {}): PropertyDecorator =>
  field(
    options,
    { type: Number, minimum: 0, maximum: MAX_PRICE_USD },
    `must be a number of US dollars from 0 to ${MAX_PRICE_USD} with at most 6 decimals`,
    (value) => typeof value === 'number' && value <= MAX_PRICE_USD && microsFromUsdNumber(value) !== null,
  );

export const TextList = ({ maxItems, maxLength, ...options }: FieldOptions & { maxItems: number; maxLength: number }): PropertyDecorator =>
  field(
    options,
    { type: [String], maxItems },
    `must be a list of at most ${maxItems} texts of 1 to ${maxLength} characters`,
    (value) => Array.isArray(value) && value.length <= maxItems && value.every((item) => isString(item) && item !== '' && lengthOf(item) <= maxLength),
  );

export const ListOf = (values: readonly string[], options: FieldOptions = {}): PropertyDecorator =>
  field(
    options,
    { type: [String], enum: [...values], minItems: 1, uniqueItems: true },
    `must be a list of different values out of ${values.join(', ')}`,
    (value) => Array.isArray(value) && value.length > 0 && new Set(value).size === value.length && value.every((item) => values.includes(item as string)),
  );

/** One nested object. `nullable`: null clears what is stored. */
export const ObjectOf = (type: Type, { nullable = false, ...options }: FieldOptions & { nullable?: boolean } = {}): PropertyDecorator =>
  applyDecorators(
    field(options, { type, nullable }, nullable ? 'must be an object or null' : 'must be an object', (value) => isPlainObject(value) || (nullable && value === null)),
    nullable ? ValidateIf((_, value) => value !== null && value !== undefined) : (): void => undefined,
    ValidateNested({ message: 'must be an object' }),
    TypeOf(() => type),
  );

export const ObjectsOf = (type: Type, { maxItems, ...options }: FieldOptions & { maxItems: number }): PropertyDecorator =>
  applyDecorators(
    field(options, { type: [type], maxItems }, `must be a list of at most ${maxItems} objects`, (value) => Array.isArray(value) && value.length <= maxItems && value.every(isPlainObject)),
    ValidateNested({ each: true, message: 'must be objects' }),
    TypeOf(() => type),
  );

const isPlainObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

function field({ optional = false, ...documentation }: FieldOptions, schema: ApiPropertyOptions, message: string, holds: (value: unknown) => boolean): PropertyDecorator {
  const rule = ValidateBy({ name: 'rule', validator: { validate: holds, defaultMessage: () => message } });
  const property = ApiProperty({ required: !optional, ...schema, ...documentation } as ApiPropertyOptions);
  return optional ? applyDecorators(property, rule, ValidateIf((_, value) => value !== undefined)) : applyDecorators(property, rule);
}
