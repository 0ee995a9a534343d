import type { RequestContract } from '@market/contracts';
import { z } from 'zod';

export type JsonSchema = Record<string, unknown>;

/** Converts a contract's schema to OpenAPI 3.1. */
export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output' = 'output'): JsonSchema {
  const { $schema: _dialect, ...converted } = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema }) {
      // Answers may get new fields, which clients must not refuse.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return converted as JsonSchema;
}

export const objectSchema = (properties: Record<string, JsonSchema>, optional: string[] = []): JsonSchema => ({
  type: 'object',
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});

const succeeded: JsonSchema = { type: 'boolean', const: true, description: 'True; false in errors.' };

export const envelopeSchema = (data: JsonSchema): JsonSchema =>
  objectSchema({
    success: succeeded,
    data: data.type === 'array' ? { ...data, description: 'The whole list, which has no pages.' } : data,
  });

const PAGINATION = objectSchema(
  {
    ...Object.fromEntries(['page', 'limit', 'total', 'totalPages'].map((name) => [name, { type: 'integer' }])),
    next_cursor: {
      type: 'string',
      description: 'Of lists that grow while they are read: send it as cursor for the next page; absent on the last.',
    },
    total_is_estimate: {
      type: 'boolean',
      const: true,
      description: 'There only where there are more than total says.',
    },
  },
  ['next_cursor', 'total_is_estimate'],
);

export const pageSchema = (item: JsonSchema): JsonSchema =>
  objectSchema({
    success: succeeded,
    data: { type: 'array', items: item, description: 'The items of this page.' },
    pagination: PAGINATION,
  });

/** Returns a small value that fits a JSON schema, for the examples of error details. */
export function sampleOf(schema: JsonSchema): unknown {
  if (Array.isArray(schema.examples)) return schema.examples[0];
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (schema.type === 'object')
    return Object.fromEntries(
      Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).map(([name, member]) => [
        name,
        sampleOf(member),
      ]),
    );
  if (schema.type === 'array') return [sampleOf(schema.items as JsonSchema)];
  return schema.type === 'integer' || schema.type === 'number' ? 1 : 'text';
}

export type Refusals = RequestContract['refusals'];
