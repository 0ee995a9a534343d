import { withClient } from '@market/testing';
import type pg from 'pg';
import { expectBooksInOrder } from '../support/books.js';
import { ACCESS_ROWS } from '../support/fuzz/access-rows.js';
import { Fixtures } from '../support/fuzz/fixtures.js';
import { DatabaseWatch } from '../support/fuzz/database-digest.js';
import { inParallel } from '../support/fuzz/in-parallel.js';
import { ApiDescription, type Operation, type Schema } from '../support/fuzz/operations.js';
import { RawClient, type RawAnswer } from '../support/fuzz/raw-client.js';
import { inEachMode } from '../support/harness.js';

/** Fields that are in no table but that handlers use. */
const BEYOND_TABLES = [
  'isAdmin',
  'is_admin',
  'principal',
  'accountType',
  'score',
  'market_score',
  'fee_rate',
  'claimed_by',
  'revoke',
  'version',
  'toJSON',
  '$set',
  'then',
];
/** A refusal names at most a hundred fields. */
const CONCURRENCY = 90;

const camelCase = (column: string): string => column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

inEachMode('mass assignment', (harness) => {
  let description: ApiDescription;
  let client: RawClient;
  let fixtures: Fixtures;

  beforeAll(async () => {
    description = await ApiDescription.read(harness);
    client = new RawClient(harness);
    fixtures = await Fixtures.create(harness);
  }, 240_000);
  afterAll(async () => {
    await expectBooksInOrder(harness);
    client.close();
    await fixtures?.close();
  });

  async function columnsOf(database: pg.Client): Promise<string[]> {
    const { rows } = await database.query<{ name: string }>(
      `SELECT DISTINCT column_name AS name FROM information_schema.columns
       WHERE table_schema NOT IN ('information_schema', 'pg_catalog', 'public')`,
    );
    return [...new Set([...rows.flatMap(({ name }) => [name, camelCase(name)]), ...BEYOND_TABLES])];
  }

  /** Returns the objects in a body: itself and the nested ones. */
  function objectsIn(schema: Schema, path: string[] = []): { path: string[]; fields: string[] }[] {
    const fields = Object.keys(schema.properties ?? {});
    const inner = Object.entries(schema.properties ?? {}).flatMap(([name, unresolved]) => {
      const member = description.resolve(unresolved);
      if (member.properties) return objectsIn(member, [...path, name]);
      const item = member.items && description.resolve(member.items);
      return item?.properties ? objectsIn(item, [...path, name, '0']) : [];
    });
    return [{ path, fields }, ...inner];
  }

  function within(body: Record<string, unknown>, [name, ...rest]: string[], extra: object): object {
    if (name === undefined) return { ...body, ...extra };
    const inner = body[name];
    if (rest[0] === '0')
      return {
        ...body,
        [name]: [
          within(((inner as unknown[] | undefined)?.[0] ?? {}) as Record<string, unknown>, rest.slice(1), extra),
        ],
      };
    return { ...body, [name]: within((inner ?? {}) as Record<string, unknown>, rest, extra) };
  }

  async function sent(operation: Operation, body: object, id: string | undefined): Promise<RawAnswer> {
    const human = operation.access.operators ? fixtures.operator : fixtures.human;
    const credential = operation.access.account_types.includes('agent') ? fixtures.keys.all : human.token;
    const path = id === undefined ? operation.path : operation.path.replace(/\{\w+\}/, id);
    return client.send({
      method: operation.method,
      target: `/api/v1${path}`,
      headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  it('gets nowhere: each column of each table that is no field of an operation is refused by name, and no row changes', async () => {
    await withClient(harness.databaseUrl, async (database) => {
      const columns = await columnsOf(database);
      expect(columns.length).toBeGreaterThan(200);
      const watch = await DatabaseWatch.over(database);
      const operations = description.operations.filter(({ body }) => body && !body.isOpaque);
      expect(operations.length).toBeGreaterThan(10);
      const ids = new Map(
        await inParallel(operations, async ({ id }) => [id, await ACCESS_ROWS[id]?.id?.own(fixtures)] as const),
      );
      const attempts = operations.flatMap((operation) =>
        objectsIn(operation.body!.schema).flatMap(({ path, fields }) => {
          const foreign = columns.filter((column) => !fields.includes(column));
          return Array.from({ length: Math.ceil(foreign.length / CONCURRENCY) }, (_, n) => ({
            operation,
            path,
            names: foreign.slice(n * CONCURRENCY, (n + 1) * CONCURRENCY),
          }));
        }),
      );
      const taken = new Set<string>();
      const attempt = async ({ operation, path, names }: (typeof attempts)[number]): Promise<void> => {
        const extra = Object.fromEntries(
          names.map((name) => [name, /(^|_)id$|Id$/.test(name) ? fixtures.outsider.id : 'x']),
        );
        const base = operation.body!.examples[0] as Record<string, unknown>;
        const answer = await sent(operation, within(base, path, extra), ids.get(operation.id));
        const { fields = [] } =
          (answer.json as { error?: { details?: { fields?: { field: string; message: string }[] } } } | undefined)
            ?.error?.details ?? {};
        const refused = new Set(
          fields.filter(({ message }) => message === 'is not a field of this operation').map(({ field }) => field),
        );
        const letIn = answer.status === 400 ? names.filter((name) => !refused.has([...path, name].join('.'))) : names;
        if (letIn.length > 0)
          taken.add(
            `${operation.name}: ${[...path, ''].join('.')}${letIn.join(', ')} -> ${answer.status} ${answer.text.slice(0, 200)}`,
          );
      };
      const changed = await watch.changedBy(() => inParallel(attempts, attempt));
      expect([...taken]).toEqual([]);
      expect(changed).toEqual([]);
    });
  }, 240_000);
});
