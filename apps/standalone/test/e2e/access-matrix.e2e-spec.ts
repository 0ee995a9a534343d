import type { Scope } from '@market/contracts';
import { newId } from '@market/kernel';
import { routeKey } from '../../src/docs/contract/spec-operations.js';
import { readContractRows } from '../../src/docs/generated-documents.js';
import { expectBooksInOrder } from '../support/books.js';
import { ACCESS_ROWS, type AccessRow, type Expected } from '../support/fuzz/access-rows.js';
import { AnswerCheck } from '../support/fuzz/answer-check.js';
import { BOUGHT_BODY, Fixtures, signIn, unknownKey } from '../support/fuzz/fixtures.js';
import { inParallel } from '../support/fuzz/in-parallel.js';
import { ApiDescription, type Operation } from '../support/fuzz/operations.js';
import { RawClient, type RawAnswer } from '../support/fuzz/raw-client.js';
import { allInStandalone, inEachMode } from '../support/harness.js';

type CredentialName =
  | 'none'
  | 'malformed'
  | 'unknown'
  | 'revoked'
  | 'expired'
  | 'ended session'
  | Scope
  | 'all'
  | 'outsider'
  | 'human'
  | 'operator'
  | ForAgent;
/**
 * Credentials that are sent with the owner's id as `agent_id`: of the human that has claimed the owner, another human,
 * another agent and the owner itself.
 */
type ForAgent = (typeof FOR_AGENT)[number];
const FOR_AGENT = ['claimer', 'stranger', 'other agent', 'agent itself'] as const;
const isForAgent = (credential: CredentialName): credential is ForAgent =>
  (FOR_AGENT as readonly CredentialName[]).includes(credential);

const BAD: readonly CredentialName[] = ['malformed', 'unknown', 'revoked', 'expired', 'ended session'];
const SCOPES: readonly Scope[] = ['read', 'write', 'subscribe'];
const AGENTS: readonly CredentialName[] = [...SCOPES, 'all', 'outsider'];

/** `hidden` ids belong to the owner and are shown to nobody else. */
const ID_FORMS = ['own', 'random', 'malformed', 'slug', 'hidden'] as const;
type IdForm = (typeof ID_FORMS)[number];

interface Cell {
  operation: Operation;
  row: AccessRow;
  credential: CredentialName;
  form: IdForm | undefined;
}

/** The refusal of a credential by the edge; undefined if the edge accepts it. */
function authenticationAnswer({ access }: Operation, credential: CredentialName): Expected | undefined {
  if (isForAgent(credential)) return access.owners ? authenticationAnswerForAgent(credential) : undefined;
  if (access.credential !== 'required') return undefined;
  if (credential === 'none' || BAD.includes(credential)) return [401, 'UNAUTHORIZED', 'unauthorized'];
  const accountType = credential === 'human' || credential === 'operator' ? 'human' : 'agent';
  if (!access.account_types.includes(accountType)) return [403, 'FORBIDDEN', 'wrong_account_type'];
  if (access.operators && credential !== 'operator') return [403, 'FORBIDDEN', 'operator_required'];
  const lacksScope =
    access.scope !== undefined && SCOPES.some((scope) => scope === credential) && credential !== access.scope;
  return lacksScope ? [403, 'FORBIDDEN', 'scope_missing'] : undefined;
}

function authenticationAnswerForAgent(credential: ForAgent): Expected | undefined {
  if (credential === 'stranger') return [404, 'NOT_FOUND', 'agent_not_found'];
  return credential === 'other agent' ? [403, 'FORBIDDEN', 'agent_id_of_another'] : undefined;
}

/** Whether an accepted credential counts as the owner of the requested resource. */
function isOwner({ access }: Operation, credential: CredentialName): boolean {
  if (credential === 'operator') return access.operators === true;
  if (isForAgent(credential)) return authenticationAnswerForAgent(credential) === undefined;
  if (access.credential === 'optional') return credential === 'read' || credential === 'all';
  return access.credential === 'required' && AGENTS.includes(credential) && credential !== 'outsider';
}

/** The documented success other than 202 and 304. */
const successOf = ({ answers }: Operation): Expected => [
  [...answers.keys()].find((status) => status === 200 || status === 201)!,
];

function expectedOf(cell: Cell): Expected {
  const { operation, row, credential, form } = cell;
  const refused = authenticationAnswer(operation, credential);
  if (refused) return refused;
  const isOwnersKey = credential !== 'outsider' && credential !== 'claimer';
  const granted = (isOwnersKey ? row.toClaimed : undefined) ?? row.granted ?? successOf(operation);
  if (row.id === undefined) return granted;
  const unknown: Expected = [404, 'NOT_FOUND', row.id.unknown];
  if ((form === 'malformed' || (form === 'slug' && !row.id.slug)) && row.id.malformed) return row.id.malformed;
  const isNamed = form === 'own' || (form === 'slug' && row.id.slug !== undefined);
  if (!isNamed) return unknown;
  return isOwner(operation, credential) ? granted : (row.id.strangers ?? unknown);
}

inEachMode('access', (harness) => {
  let description: ApiDescription;
  let check: AnswerCheck;
  let client: RawClient;
  let fixtures: Fixtures;

  beforeAll(async () => {
    description = await ApiDescription.read(harness);
    check = new AnswerCheck(description);
    client = new RawClient(harness);
    fixtures = await Fixtures.create(harness);
  }, 240_000);
  afterAll(async () => {
    await expectBooksInOrder(harness);
    client.close();
    await fixtures?.close();
  });

  /** Ids that a refused request cannot use up are created once. */
  const lastingIds = new Map<string, Promise<string>>();

  async function idOf({ operation, row: { id }, form }: Cell, isRefused: boolean): Promise<string[]> {
    if (form === 'random') return [newId()];
    if (form === 'malformed') return ['not-an-id', '0', `${newId()}0`, '%00', "'--", '..%2f..', 'null'];
    if (form === 'hidden') return id!.hidden?.(fixtures) ?? [];
    if (form === 'slug') return [id!.slug?.(fixtures) ?? fixtures.free.slug];
    const key = `${operation.id} ${id!.parameter}`;
    if (isRefused && !lastingIds.has(key)) lastingIds.set(key, Promise.resolve(id!.own(fixtures)));
    return [await (isRefused ? lastingIds.get(key)! : id!.own(fixtures))];
  }

  async function authorizationOf(credential: CredentialName, { endsSession }: AccessRow): Promise<string | undefined> {
    switch (credential) {
      case 'none':
        return undefined;
      case 'malformed':
        return `Bearer ${fixtures.keys.all.slice(0, -1)}`;
      case 'unknown':
        return `Bearer ${unknownKey()}`;
      case 'ended session':
        return `Bearer ${fixtures.endedSession}`;
      case 'outsider':
        return fixtures.outsider.registration.authorization_header;
      case 'other agent':
        return fixtures.outsider.registration.authorization_header;
      case 'agent itself':
        return `Bearer ${fixtures.keys.all}`;
      case 'stranger':
        return `Bearer ${fixtures.stranger.token}`;
      case 'operator':
        return `Bearer ${fixtures.operator.token}`;
      case 'claimer':
        return `Bearer ${fixtures.human.token}`;
      case 'human':
        return `Bearer ${endsSession ? (await signIn(harness)).token : fixtures.human.token}`;
      default:
        return `Bearer ${fixtures.keys[credential]}`;
    }
  }

  async function bodyFor({ operation, row }: Cell, id: string): Promise<object | undefined> {
    if (!operation.body) return undefined;
    const body = (await row.body?.(fixtures)) ?? operation.body.examples[0]!;
    const isInBody = row.id && !operation.path.includes(`{${row.id.parameter}}`);
    return isInBody ? { ...body, [row.id!.parameter]: id } : body;
  }

  /** @returns the problems in the answers to a cell, and the answers. */
  async function tried(cell: Cell): Promise<{ problems: string[]; answers: RawAnswer[] }> {
    const { operation, row, credential, form } = cell;
    const expected = expectedOf(cell);
    const isRefused = expected[0] >= 400 && expected[0] !== 402;
    const authorization = await authorizationOf(credential, row);
    const ids = row.id ? await idOf(cell, isRefused) : [''];
    const problems: string[] = [];
    const answers: RawAnswer[] = [];
    for (const id of ids) {
      const path = row.id ? operation.path.replace(`{${row.id.parameter}}`, id) : operation.path;
      const target = `/api/v1${path}${isForAgent(credential) ? `?agent_id=${fixtures.owner.id}` : ''}`;
      const body = await bodyFor(cell, id);
      const answer = await client.send({
        method: operation.method,
        target,
        headers: {
          ...(authorization ? { authorization } : {}),
          ...(body ? { 'content-type': 'application/json' } : {}),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      const { code, details } =
        (answer.json as { error?: { code?: string; details?: { reason?: string } } } | undefined)?.error ?? {};
      const got = expected[2]
        ? [answer.status, code, details?.reason]
        : expected[1]
          ? [answer.status, code]
          : [answer.status];
      const secrets = isOwner(operation, credential)
        ? []
        : fixtures.secrets.filter(
            (secret) => !target.includes(secret) && !(row.namesPayees && secret === fixtures.payout),
          );
      const wrong = check.problemsOf(operation, operation.method, answer, [
        ...secrets,
        ...Object.values(fixtures.keys),
      ]);
      if (String(got) !== String(expected)) wrong.unshift(`is answered ${got.join(' ')}, not ${expected.join(' ')}`);
      problems.push(
        ...wrong.map(
          (problem) => `${operation.name} with ${credential}${form ? `, id ${form} (${id})` : ''}: ${problem}`,
        ),
      );
      answers.push(answer);
    }
    return { problems, answers };
  }

  /** `agent_id` is a parameter of operations that owners may use. */
  const isAsked = ({ access }: Operation, credential: CredentialName): boolean =>
    credential === 'operator' ? access.operators === true : access.owners === true || !isForAgent(credential);

  const cellsWith = (credentials: readonly CredentialName[]): Cell[] =>
    description.operations.flatMap((operation) => {
      const row = ACCESS_ROWS[operation.id];
      if (!row) return [];
      const cells = credentials.flatMap((credential) =>
        (row.id ? ID_FORMS : [undefined]).map((form) => ({ operation, row, credential, form })),
      );
      return cells.filter(
        ({ credential, form }) =>
          isAsked(operation, credential) &&
          (form !== 'hidden' || authenticationAnswer(operation, credential) || !isOwner(operation, credential)),
      );
    });

  const problemsOf = async (cells: Cell[]): Promise<string[]> =>
    (await inParallel(cells, tried)).flatMap(({ problems }) => problems);

  it('is declared for every operation of the document, and for none that is not there', () => {
    const inPath = (operation: Operation): string[] =>
      operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
    const missing = description.operations
      .filter(({ id }) => !(id in ACCESS_ROWS))
      .map(({ name, id }) => `${name}: add a row ${id} to apps/standalone/test/support/fuzz/access-rows.ts`);
    const incomplete = description.operations
      .filter(
        (operation) =>
          operation.id in ACCESS_ROWS &&
          inPath(operation).some((name) => name !== ACCESS_ROWS[operation.id]!.id?.parameter),
      )
      .map(
        ({ name, id }) =>
          `${name}: the row ${id} must say whose resource its ${inPath(description.operation(id)).join()} names`,
      );
    const gone = Object.keys(ACCESS_ROWS).filter(
      (id) => !description.operations.some((operation) => operation.id === id),
    );
    expect([missing, incomplete, gone]).toEqual([[], [], []]);
    expect(description.operations.length).toBeGreaterThan(25);
  });

  it('is for those with a good credential, where one is needed [spec: error.401 UNAUTHORIZED]', async () => {
    const cells = cellsWith(['none', ...BAD]);
    expect(cells.length).toBeGreaterThan(300);
    expect(await problemsOf(cells)).toEqual([]);
  }, 240_000);

  it(
    'is kept to the scopes of a key and to the kind of account ' +
      '[spec: error.403 FORBIDDEN, authentication-rule.5, authentication-rule.8]',
    async () => {
      const cells = cellsWith([...AGENTS, 'human']).filter(({ operation, credential }) =>
        authenticationAnswer(operation, credential),
      );
      expect(cells.length).toBeGreaterThan(100);
      expect(await problemsOf(cells)).toEqual([]);
    },
    240_000,
  );

  it('needs no credential where the tables of the interface say none [spec: authentication-rule.2]', async () => {
    const open = (await readContractRows())
      .filter(({ columns, cells }) => columns[1] === 'Auth' && cells[1] === 'none')
      .map(({ id }) => routeKey(id))
      .sort();
    const cells = cellsWith(['none']).filter(({ operation }) => open.includes(routeKey(operation.name)));
    expect([...new Set(cells.map(({ operation }) => routeKey(operation.name)))].sort()).toEqual(open);
    const statuses = (await inParallel(cells, tried)).flatMap(({ answers }) => answers.map(({ status }) => status));
    expect(statuses.filter((status) => status === 401 || status === 403)).toEqual([]);
    expect(statuses.length).toBeGreaterThan(open.length);
  });

  it('opens to a key of the scope alone, and is the same for all who are let in', async () => {
    const cells = cellsWith([...AGENTS, 'human', 'operator']).filter(
      ({ operation, credential }) => !authenticationAnswer(operation, credential),
    );
    expect(cells.length).toBeGreaterThan(200);
    expect(await problemsOf(cells)).toEqual([]);
  }, 240_000);

  it('is also the human that has claimed the agent, on what is open to owners; and no other human and no other agent', async () => {
    const cells = cellsWith(FOR_AGENT);
    expect(new Set(cells.map(({ operation }) => operation.id)).size).toBeGreaterThan(20);
    expect(await problemsOf(cells)).toEqual([]);
  }, 240_000);

  it('tells what exists and is not yours as little as what does not exist [spec: error.404 NOT_FOUND]', async () => {
    const differences: string[] = [];
    for (const { operation, row } of cellsWith(['outsider']).filter(({ form }) => form === 'random')) {
      const answersTo = async (form: IdForm): Promise<RawAnswer[]> =>
        (await tried({ operation, row, credential: 'outsider', form })).answers;
      const [unknown] = await answersTo('random');
      const hidden = [...(await answersTo('hidden')), ...(row.id!.strangers ? [] : await answersTo('own'))];
      const said = ({ status, json }: RawAnswer): string => JSON.stringify([status, json]);
      for (const answer of hidden)
        if (said(answer) !== said(unknown!))
          differences.push(`${operation.name}: ${said(answer)} is not ${said(unknown!)}`);
    }
    expect(differences).toEqual([]);
  });

  it('lets each side of a purchase see its own side, and of the other no more than its name', async () => {
    const shared = [
      fixtures.relayRequestId,
      fixtures.transactionHash,
      fixtures.gatewayRequestId,
      fixtures.fileRequestId,
    ];
    const theirs = [
      ...fixtures.secrets.filter((secret) => !shared.includes(secret)),
      ...Object.values(fixtures.keys),
      JSON.stringify(BOUGHT_BODY),
    ];
    const lists = description.operations.filter(
      ({ method, path, access }) =>
        method === 'GET' &&
        access.credential === 'required' &&
        access.account_types.includes('agent') &&
        !path.includes('{'),
    );
    const queries = (operation: Operation): string[] => [
      '',
      ...operation.parameters
        .filter(({ name }) => name === 'role')
        .flatMap(({ schema }) => (schema?.enum ?? []).map((role) => `?role=${String(role)}`)),
    ];
    const seen = await inParallel(
      lists.flatMap((operation) => queries(operation).map((query) => ({ operation, query }))),
      async ({ operation, query }) => {
        const answer = await client.send({
          method: 'GET',
          target: `/api/v1${operation.path}${query}`,
          headers: { authorization: fixtures.merchant.registration.authorization_header },
        });
        expect(answer.status).toBe(200);
        return theirs
          .filter((secret) => answer.text.includes(secret))
          .map((secret) => `${operation.name}${query}: ${secret}`);
      },
    );
    expect(lists.length).toBeGreaterThan(5);
    expect(seen.flat()).toEqual([]);
    const [sold] = (await fixtures.merchant.market.gatewayRequests.list({ role: 'seller', status: 'succeeded' })).data;
    expect(sold).toMatchObject({ buyer: { id: fixtures.owner.id, display_name: 'The owner' } });
    expect(Object.keys(sold!.buyer)).toEqual(['id', 'display_name']);
    expect((await fixtures.merchant.market.receipts.list({ role: 'buyer' })).data).toEqual([]);
    expect((await fixtures.merchant.market.gatewayRequests.list({ role: 'buyer' })).data).toEqual([]);
  });

  describe('by another spelling of the path or the method', () => {
    const spellings = (path: string): string[] => [
      ...[
        '/',
        '//',
        '/.',
        '/./',
        '/..;/',
        ';',
        ';a=b',
        '.json',
        '%2f',
        '%20',
        '%00',
        '%0a',
        '?',
        '?/',
        '#',
        '%23',
        '\\',
        '%5c',
        '/%2e%2e/',
      ].map((tail) => path + tail),
      ...[
        '/',
        '/./',
        '/../api/',
        '/x/../',
        '/%2e/',
        '/%2e%2e/',
        '/;/',
        '/api/../',
        '//api//',
        '/\\',
        '/%2f',
        '/health/..',
        '/api/v1/health/..',
        '/api/v1/health/%2e%2e',
        '/api/v1/health;',
        '/API',
        'http://other.example',
      ].map((head) => head + path),
      path.toUpperCase(),
      path.replace('/api/v1', '/api/V1'),
      path.replace('/api/v1', '/api%2fv1'),
      path.replace('/api/v1', '/api//v1'),
      path.replace('/api/v1', '/./api/v1'),
      path.replace('/api/v1/', '/api/v1//'),
      path.replace('/api/v1/', '/api/v1/./'),
      path.replace(/[a-z](?=[^/]*$)/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
      path.replace(/\/api/, '/%61pi'),
      path.replace(/\/api/, '/%2561pi'),
      path.replaceAll('/', '\\'),
      path.replaceAll('/', '%2f').replace('%2f', '/'),
    ];
    const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'FOO'];
    const OVERRIDES = ['x-http-method-override', 'x-http-method', 'x-method-override'];

    it('nothing opens that is closed', async () => {
      const guarded = description.operations.filter(({ access }) => access.credential === 'required');
      const scoped = guarded.filter(({ access }) => access.scope !== undefined);
      const requests = [
        ...allInStandalone(harness, guarded).map((operation) => ({ operation, authorization: undefined })),
        ...allInStandalone(harness, scoped).map((operation) => ({
          operation,
          authorization: `Bearer ${fixtures.keys[operation.access.scope === 'read' ? 'write' : 'read']}`,
        })),
      ].flatMap(({ operation, authorization }) => {
        const path = `/api/v1${operation.path.replace(/\{\w+\}/, fixtures.perCall.id)}`;
        const ways = [
          ...spellings(path).map((target) => ({ method: operation.method, target, headers: {} })),
          // Excludes methods of other operations on the path.
          ...METHODS.filter(
            (method) =>
              !description.operations.some(
                (other) =>
                  other.path === operation.path &&
                  other.id !== operation.id &&
                  [other.method, other.method.replace('GET', 'HEAD')].includes(method),
              ),
          ).map((method) => ({ method, target: path, headers: {} })),
          ...OVERRIDES.map((name) => ({ method: 'POST', target: path, headers: { [name]: operation.method } })),
          ...['x-original-url', 'x-rewrite-url', 'x-forwarded-path'].map((name) => ({
            method: operation.method,
            target: '/api/v1/nothing',
            headers: { [name]: path },
          })),
        ];
        return ways.map((way) => ({
          ...way,
          operation,
          headers: { ...way.headers, ...(authorization ? { authorization } : {}) },
        }));
      });
      expect(requests.length).toBeGreaterThan(harness.mode === 'standalone' ? 1_000 : 100);
      const opened = await inParallel(requests, async ({ operation, method, target, headers }) => {
        const answer = await client
          .send({ method, target, headers })
          .catch((error: NodeJS.ErrnoException) =>
            error.code?.startsWith('HPE_') || error.code === 'ERR_INVALID_HTTP_TOKEN'
              ? undefined
              : Promise.reject(error),
          );
        if (!answer) return [];
        const problems = answer.status < 400 && method !== 'OPTIONS' ? [`opens: ${answer.status}`] : [];
        const shown = check
          .problemsOf(
            undefined,
            method,
            answer,
            fixtures.secrets.filter((secret) => !target.includes(secret)),
          )
          .filter((problem) => /failure|must not see|ours/.test(problem));
        return [...problems, ...shown].map(
          (problem) => `${operation.name} as ${method} ${target} ${JSON.stringify(headers)}: ${problem}`,
        );
      });
      expect(opened.flat()).toEqual([]);
    }, 240_000);
  });
});
