import type { OpenAPIObject } from '@nestjs/swagger';
import { COMPONENT_DESCRIPTIONS } from './component-descriptions.js';
import { FIELD_DESCRIPTIONS } from './field-descriptions.js';
import type { JsonSchema } from './json-schema.js';
import { lastNamesIn } from './last-names.js';
import { PLACE_DESCRIPTIONS } from './place-descriptions.js';

type Schemas = Record<string, JsonSchema>;

/** Descriptions by the last names that lead to what they describe, joined by dots. */
export const GLOSSARY: Record<string, string> = {
  ...COMPONENT_DESCRIPTIONS,
  ...FIELD_DESCRIPTIONS,
  ...Object.fromEntries(
    Object.entries(PLACE_DESCRIPTIONS).flatMap(([name, places]) =>
      Object.entries(places).flatMap(([holders, text]) =>
        holders.split(' ').map((holder) => [`${holder}.${name}`, text] as const),
      ),
    ),
  ),
};

/** The members of schemas that contain values. */
const VALUES = new Set(['example', 'examples', 'default', 'const', 'enum']);

/**
 * Returns the document with descriptions of the components and properties that do not describe themselves. It copies
 * what it changes, because schemas share their parts.
 */
export function describeFields(document: OpenAPIObject): OpenAPIObject {
  const schemas = Object.entries((document.components?.schemas ?? {}) as Schemas);
  const paths = Object.entries(document.paths).map(([path, item]) => [
    path,
    Object.fromEntries(
      Object.entries(item).map(([method, operation]) => [method, within(operation, [operation.operationId])]),
    ),
  ]);
  return {
    ...document,
    paths: Object.fromEntries(paths),
    components: {
      ...document.components,
      schemas: Object.fromEntries(schemas.map(([name, schema]) => [name, described(schema, [name])])),
    },
  };
}

function within(node: unknown, names: string[]): unknown {
  if (Array.isArray(node)) return node.map((item) => within(item, names));
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]: [string, unknown]) => {
      if (VALUES.has(key)) return [key, value];
      if (key !== 'properties') return [key, within(value, names)];
      const properties = Object.entries(value as Schemas);
      return [key, Object.fromEntries(properties.map(([name, schema]) => [name, described(schema, [...names, name])]))];
    }),
  );
}

function described(schema: JsonSchema, names: string[]): JsonSchema {
  const changed = within(schema, names) as JsonSchema;
  if (changed.description !== undefined) return changed;
  const alternatives = changed.anyOf as JsonSchema[] | undefined;
  const own = alternatives?.find(({ description }) => description !== undefined);
  // Of what may be null, the description is that of the field.
  if (own) {
    const { description, ...rest } = own;
    return { ...changed, anyOf: alternatives!.map((each) => (each === own ? rest : each)), description };
  }
  const key = lastNamesIn(GLOSSARY, names);
  return key === undefined ? changed : { ...changed, description: GLOSSARY[key] };
}
