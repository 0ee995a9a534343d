import { newId } from '@market/kernel';
import { Fixtures } from '../support/fuzz/fixtures.js';
import { inParallel } from '../support/fuzz/in-parallel.js';
import { ApiDescription, type Operation, type Schema } from '../support/fuzz/operations.js';
import { RawClient, type RawAnswer } from '../support/fuzz/raw-client.js';
import { STRANGE_TEXTS } from '../support/fuzz/values.js';
import { inEachMode } from '../support/harness.js';

/** A value for one field or parameter, and whether the document allows it. */
interface Probe {
  value: unknown;
  isWithin: boolean;
  what: string;
}

/** One code point that is two units of UTF-16 and four bytes of UTF-8. It counts as one character. */
const CRAB = '🦀';
const probe = (value: unknown, isWithin: boolean, what: string): Probe => ({ value, isWithin, what });

function probesOf({
  type,
  minLength,
  maxLength,
  minimum,
  maximum,
  minItems,
  maxItems,
  items,
  enum: choices,
  format,
  pattern,
}: Schema): Probe[] {
  const isFreeText = type === 'string' && !choices && !format && !pattern;
  const lengths = isFreeText
    ? ['x', CRAB].flatMap((unit) => [
        ...(minLength
          ? [
              probe(unit.repeat(minLength), true, `${minLength} of ${unit}`),
              probe(unit.repeat(minLength - 1), false, `${minLength - 1} of ${unit}`),
            ]
          : []),
        ...(maxLength
          ? [
              probe(unit.repeat(maxLength), true, `${maxLength} of ${unit}`),
              probe(unit.repeat(maxLength + 1), false, `${maxLength + 1} of ${unit}`),
            ]
          : []),
      ])
    : [];
  const numbers =
    type === 'integer' || type === 'number'
      ? [
          ...(minimum === undefined
            ? []
            : [probe(minimum, true, `${minimum}`), probe(minimum - 1, false, `${minimum - 1}`)]),
          ...(maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER
            ? []
            : [probe(maximum, true, `${maximum}`), probe(maximum + 1, false, `${maximum + 1}`)]),
        ]
      : [];
  const options = (choices ?? []).flatMap((choice) => [
    probe(choice, true, `${String(choice)}`),
    probe(`${String(choice)}x`, false, `${String(choice)}x`),
    probe(String(choice).toUpperCase(), String(choice).toUpperCase() === choice, 'upper case'),
  ]);
  const itemOf = (_: unknown, n: number): string => (items?.format === 'uuid' ? newId() : `x${n}`);
  const counts =
    type === 'array' && items && !items.enum
      ? [
          ...(minItems ? [probe(Array(minItems - 1).fill('x'), false, `${minItems - 1} items`)] : []),
          ...(maxItems && items.type === 'string'
            ? [probe(Array.from({ length: maxItems }, itemOf), true, `${maxItems} items`)]
            : []),
          ...(maxItems ? [probe(Array.from({ length: maxItems + 1 }, itemOf), false, `${maxItems + 1} items`)] : []),
        ]
      : [];
  return [...lengths, ...numbers, ...options, ...counts];
}

/** The schema of a field without null. */
const besideNull = (schema: Schema): Schema => schema.anyOf?.find(({ type }) => type !== 'null') ?? schema;
const typesOf = ({ type, anyOf }: Schema): string[] => (anyOf ? anyOf.flatMap(typesOf) : [type ?? 'object'].flat());

/** Values that are invalid for every field of this type. */
function wrongTypes(schema: Schema): unknown[] {
  const all: Record<string, unknown> = {
    string: 'text',
    number: 1.5,
    boolean: true,
    array: ['a'],
    object: { a: 1 },
    null: null,
  };
  const taken = typesOf(schema);
  return Object.entries(all)
    .filter(([name]) => !taken.includes(name))
    .map(([, value]) => value);
}

inEachMode('the bounds of the OpenAPI document', (harness) => {
  let description: ApiDescription;
  let client: RawClient;
  let fixtures: Fixtures;

  beforeAll(async () => {
    description = await ApiDescription.read(harness);
    client = new RawClient(harness);
    fixtures = await Fixtures.create(harness);
  }, 240_000);
  afterAll(async () => {
    client.close();
    await fixtures?.close();
  });

  const idsInPath: Record<string, (of: Fixtures) => string> = {
    listingId: ({ perCall }) => perCall.id,
    id: ({ walletId }) => walletId,
    agentId: ({ owner }) => owner.id,
    relayRequestId: ({ offer }) => offer.relay_request_id,
    month: () => '2026-01',
  };

  function send(
    { access, method, path }: Operation,
    { body, query = '' }: { body?: unknown; query?: string },
  ): Promise<RawAnswer> {
    const human = access.operators ? fixtures.operator : fixtures.human;
    const credential = access.account_types.includes('agent') ? fixtures.keys.all : human.token;
    const target = `/api/v1${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => idsInPath[name]?.(fixtures) ?? fixtures.free.id)}${query}`;
    return client.send({
      method,
      target,
      headers: {
        authorization: `Bearer ${credential}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  interface Refusal {
    reason?: string;
    field?: string;
    fields?: { field: string }[];
  }
  /** The fields that an answer names as invalid. */
  function namedIn({ status, json }: RawAnswer): string[] {
    if (status !== 400) return [];
    const { fields = [], field } = ((json as { error: { details?: Refusal } }).error.details ?? {}) as Refusal;
    return [...fields.map((named) => named.field), ...(field ? [field] : [])];
  }

  /** Returns all members of a body, at any depth, with functions that change them in a valid body. */
  function members(
    good: Record<string, unknown>,
    schema: Schema,
    path = '',
  ): { path: string; schema: Schema; isRequired: boolean; set(value: unknown): object }[] {
    return Object.entries(schema.properties ?? {}).flatMap(([name, unresolved]) => {
      const member = description.resolve(unresolved);
      const withValue = (value: unknown): Record<string, unknown> => ({ ...good, [name]: value });
      const own = {
        path: path + name,
        schema: unresolved.anyOf || unresolved.oneOf ? unresolved : member,
        isRequired: schema.required?.includes(name) ?? false,
        set: withValue,
      };
      const inner = member.properties
        ? [{ at: '', schema: member, wrap: (value: unknown) => withValue(value) }]
        : member.items && description.resolve(member.items).properties
          ? [{ at: '.0', schema: description.resolve(member.items), wrap: (value: unknown) => withValue([value]) }]
          : [];
      const nested = inner.flatMap(({ at, schema: innerSchema, wrap }) => {
        const given = good[name] as Record<string, unknown> | undefined;
        return members(
          given && !Array.isArray(given) ? given : sampleOf(innerSchema),
          innerSchema,
          `${path}${name}${at}.`,
        ).map((found) => ({ ...found, set: (value: unknown) => wrap(found.set(value)) }));
      });
      return [own, ...nested];
    });
  }

  const sampleOf = (schema: Schema): Record<string, unknown> =>
    Object.fromEntries(
      (schema.required ?? []).map((name) => [
        name,
        'x'.repeat(description.resolve(schema.properties![name]!).minLength ?? 1),
      ]),
    );
  const withBodies = (): Operation[] => description.operations.filter(({ body }) => body && !body.isOpaque);

  it(
    'are those of every field: what is within is not found wrong, what is beyond is refused by name ' +
      '[spec: limit.listing-name, limit.listing-description, limit.docs, limit.connection-instructions, ' +
      'limit.risk-disclaimers-sla, limit.expected-delivery, limit.review-ratings]',
    async () => {
      const probes = withBodies().flatMap((operation) => {
        const { schema, examples } = operation.body!;
        return members(examples[0] as Record<string, unknown>, schema).flatMap(
          ({
            path,
            schema: member,
            isRequired,
            set,
          }): { operation: Operation; path: string; body: object; isWithin: boolean; what: string; as?: object }[] => [
            ...probesOf(besideNull(member)).map(({ value, isWithin, what }) => ({
              operation,
              path,
              body: set(value),
              isWithin,
              what,
            })),
            // In a POST, null for an optional field is the same as an absent field.
            ...wrongTypes(member).map((value) => ({
              operation,
              path,
              body: set(value),
              isWithin: false,
              what: JSON.stringify(value),
              ...(value === null && !isRequired && operation.method === 'POST' && { as: set(undefined) }),
            })),
            ...(isRequired ? [{ operation, path, body: set(undefined), isWithin: false, what: 'nothing' }] : []),
          ],
        );
      });
      expect(probes.length).toBeGreaterThan(300);
      // A value of the maximum length fits into a body. A longer one may make the body too large.
      const refuses = (answer: RawAnswer, path: string): boolean =>
        answer.status === 413 || namedIn(answer).some((field) => field === path || field.startsWith(`${path}.`));
      const wrong = await inParallel(probes, async ({ operation, path, body, as, what, ...probe }) => {
        const answer = await send(operation, { body });
        const isWithin = as ? !refuses(await send(operation, { body: as }), path) : probe.isWithin;
        return refuses(answer, path) === isWithin
          ? [
              `${operation.name}: ${path} of ${what} should be ${isWithin ? 'taken' : 'refused'}: ${answer.status} ` +
                `${answer.text.slice(0, 300)}`,
            ]
          : [];
      });
      expect(wrong.flat()).toEqual([]);
    },
    240_000,
  );

  it('are those of query fields [spec: limit.page, GET /listings limit, GET /receipts and GET /reviews/{listingId} limit]', async () => {
    const probes = description.operations.flatMap((operation) =>
      operation.parameters
        .filter((parameter) => parameter.in === 'query')
        .flatMap(({ name, schema = {} }) =>
          [
            ...probesOf(schema),
            ...(schema.type === 'string'
              ? []
              : ['', ' 1', '1e1', '0x1', '１', 'x', '1,2'].map((value) => probe(value, false, JSON.stringify(value)))),
          ].map((tried) => ({ operation, name, ...tried })),
        ),
    );
    expect(probes.length).toBeGreaterThan(60);
    const wrong = await inParallel(probes, async ({ operation, name, value, isWithin, what }) => {
      const answer = await send(operation, { query: `?${name}=${encodeURIComponent(String(value))}` });
      return namedIn(answer).includes(name) === isWithin
        ? [
            `${operation.name}: ${name} of ${what} should be ${isWithin ? 'taken' : 'refused'}: ${answer.status} ` +
              `${answer.text.slice(0, 300)}`,
          ]
        : [];
    });
    expect(wrong.flat()).toEqual([]);
  }, 120_000);

  it('are all there is to a text: it is kept as it was sent, or refused', async () => {
    const listing = await fixtures.listing();
    const FIELDS: Record<string, (text: string) => unknown> = {
      name: (text) => text,
      description: (text) => text,
      tags: (text) => [text],
    };
    const differences: string[] = [];
    for (const [field, valueOf] of Object.entries(FIELDS)) {
      for (const text of STRANGE_TEXTS) {
        const value = valueOf(field === 'description' ? text.padEnd(12, '.') : text);
        const answer = await client.send({
          method: 'PATCH',
          target: `/api/v1/listings/${listing.id}`,
          headers: { authorization: `Bearer ${fixtures.keys.all}`, 'content-type': 'application/json' },
          body: JSON.stringify({ [field]: value }),
        });
        const kept =
          answer.status === 200
            ? ((await fixtures.owner.market.listings.get(listing.id)) as unknown as Record<string, unknown>)[field]
            : undefined;
        if (![200, 400].includes(answer.status))
          differences.push(
            `${field} ${JSON.stringify(text.slice(0, 50))}: ${answer.status} ${answer.text.slice(0, 200)}`,
          );
        else if (answer.status === 200 && JSON.stringify(kept) !== JSON.stringify(value))
          differences.push(
            `${field} ${JSON.stringify(value).slice(0, 80)} is kept as ${JSON.stringify(kept).slice(0, 80)}`,
          );
      }
    }
    expect(differences).toEqual([]);
  }, 120_000);
});
