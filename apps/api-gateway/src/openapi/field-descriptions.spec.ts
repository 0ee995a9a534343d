import { readFileSync } from 'node:fs';
import { GLOSSARY } from './describe-fields.js';
import { lastNamesIn } from './last-names.js';

interface Schema {
  $ref?: string;
  description?: string;
  properties?: Record<string, Schema>;
}

interface Field {
  /** Of the component or the operation, then of the properties around it, then its own. */
  names: string[];
  schema: Schema;
}

interface Document {
  paths: Record<string, Record<string, { operationId: string }>>;
  components: { schemas: Record<string, Schema> };
}

const text = readFileSync(new URL('../../../../docs/openapi.json', import.meta.url), 'utf8');
const { paths, components } = JSON.parse(text) as Document;

const VALUES = ['example', 'examples', 'default', 'const', 'enum'];

/** The properties of all schemas in a part of the document; those of examples are none. */
function propertiesIn(node: unknown, names: string[]): Field[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node)
    .filter(([key]) => Array.isArray(node) || !VALUES.includes(key))
    .flatMap(([key, value]: [string, unknown]) =>
      key === 'properties'
        ? Object.entries(value as Record<string, Schema>).flatMap(([name, schema]) => [
            { names: [...names, name], schema },
            ...propertiesIn(schema, [...names, name]),
          ])
        : propertiesIn(value, names),
    );
}

const schemas = Object.entries(components.schemas).map(([name, schema]) => ({ names: [name], schema }));
const properties = [
  ...schemas.flatMap(({ names, schema }) => propertiesIn(schema, names)),
  ...Object.values(paths)
    .flatMap((item) => Object.values(item))
    .flatMap((operation) => propertiesIn(operation, [operation.operationId])),
];

const descriptionOf = ({ $ref, description }: Schema): string | undefined =>
  description ?? ($ref === undefined ? undefined : components.schemas[$ref.split('/').at(-1)!]?.description);

const pathOf = ({ names }: Field): string => names.join('.');

const ARTICLES = ['a', 'an', 'the', 'its', 'of'];
const wordsOf = (value: string): string[] =>
  (
    value
      .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .match(/[a-z\d]+/g) ?? []
  ).filter((word) => !ARTICLES.includes(word));

describe('every property of the document', () => {
  it('has a description, of its own or of the component that it is', () => {
    expect(properties.length).toBeGreaterThan(1_000);
    expect(properties.filter(({ schema }) => !descriptionOf(schema)).map(pathOf)).toEqual([]);
  });

  it('is described by more than its name', () => {
    const repeating = [...properties, ...schemas].filter(({ names, schema }) => {
      const known = wordsOf(names.at(-1)!);
      const words = wordsOf(schema.description ?? 'described elsewhere');
      return words.every((word) => known.includes(word));
    });
    expect(repeating.map(pathOf)).toEqual([]);
  });
});

describe('the glossary', () => {
  it('has no entry that describes nothing', () => {
    const used = new Set(
      [...properties, ...schemas]
        .filter(({ names, schema }) => schema.description === GLOSSARY[lastNamesIn(GLOSSARY, names) ?? ''])
        .map(({ names }) => lastNamesIn(GLOSSARY, names)),
    );
    expect(Object.keys(GLOSSARY).filter((key) => !used.has(key))).toEqual([]);
  });
});
