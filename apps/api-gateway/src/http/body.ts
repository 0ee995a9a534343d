import type { PipeTransform } from '@nestjs/common';
import { z } from 'zod';
import { requestInvalid, type FieldProblem } from './edge-refusals.js';

const MAX_PROBLEMS = 100;
const NAMES: Partial<Record<string, string>> = {
  object: 'an object',
  array: 'a list',
  boolean: 'true or false',
  string: 'text',
};

/**
 * Reads the JSON body of a create operation, or refuses it with all its problems. A null field counts as absent. Used
 * as `@Body(bodyOf(schema))`.
 */
export function bodyOf<T extends z.ZodObject>(schema: T): PipeTransform<unknown, z.output<T>> {
  const { transform } = changesOf(schema);
  return { transform: (body, metadata) => transform(withoutNulls(schema, body), metadata) };
}

/** Like `bodyOf`, for an operation whose body is optional. */
export function bodyOrNoneOf<T extends z.ZodObject>(schema: T): PipeTransform<unknown, z.output<T>> {
  const { transform } = bodyOf(schema);
  return { transform: (body, metadata) => transform(body === undefined ? {} : body, metadata) };
}

/** Like `bodyOf`, for a change, in which null is a value. */
export function changesOf<T extends z.ZodObject>(schema: T): PipeTransform<unknown, z.output<T>> {
  const strict = schema.strict();
  return {
    transform(body) {
      if (!isObject(body)) throw requestInvalid([{ field: 'body', message: 'must be a JSON object' }]);
      const result = strict.safeParse(body, { error: messageOf });
      if (!result.success) throw requestInvalid(result.error.issues.flatMap(problemsOf).slice(0, MAX_PROBLEMS));
      return result.data as z.output<T>;
    },
  };
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function withoutNulls(schema: unknown, value: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable)
    return withoutNulls(schema.unwrap(), value);
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => withoutNulls(schema.element, item));
  if (!(schema instanceof z.ZodObject) || !isObject(value)) return value;
  const fields = Object.entries(value).filter(([name, field]) => field !== null || !(name in schema.shape));
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(schema.shape[name], field)]));
}

/** The messages for problems of fields that define none of their own. */
function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  if (issue.code === 'invalid_type') return `must be ${NAMES[issue.expected] ?? issue.expected}`;
  return issue.code === 'too_big' ? `must be at most ${issue.maximum} items` : undefined;
}

function problemsOf({ path, message, ...issue }: z.core.$ZodIssue): FieldProblem[] {
  const isUnknown = issue.code === 'unrecognized_keys';
  return (isUnknown ? issue.keys : [undefined]).map((key) => ({
    field: [...path, ...(key === undefined ? [] : [key])].join('.'),
    message: isUnknown ? 'is not a field of this operation' : message,
  }));
}
