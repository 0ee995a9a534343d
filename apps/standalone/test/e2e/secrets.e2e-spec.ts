import { Marketplace } from '@market/sdk';
import { reply, sellerServer, type SellerServer } from '@market/sdk/seller';
import { startMarketplace, withClient, type RunningMarketplace } from '@market/testing';
import { randomBytes } from 'node:crypto';
import { expectBooksInOrder } from '../support/books.js';
import { callOnce, payFor, resultOf, withRelayId } from '../support/buyer.js';
import { ACCESS_ROWS } from '../support/fuzz/access-rows.js';
import { canary, Fixtures, signIn } from '../support/fuzz/fixtures.js';
import { DatabaseWatch } from '../support/fuzz/database-digest.js';
import { FuzzRun } from '../support/fuzz/fuzz-run.js';
import { inParallel } from '../support/fuzz/in-parallel.js';
import { liveProof } from '../support/fuzz/live-proofs.js';
import { ApiDescription } from '../support/fuzz/operations.js';
import { RawClient, type RawRequest } from '../support/fuzz/raw-client.js';
import { dumpOf, messagesIn, RedisTap } from '../support/fuzz/taps.js';
import { inEachMode, type Harness } from '../support/harness.js';

const ENCRYPTION_KEY = randomBytes(32).toString('base64');

/**
 * The bus requests that carry a secret, either to the service that stores it, or from the service that creates it to
 * the client. No other message may contain one.
 */
const CARRIERS: Record<Kind, RegExp> = {
  'API key': /^rpc\.identity\.(register|recover|create-api-key)\.v\d+$/,
  'session token': /^rpc\.identity\.open-session\.v\d+$/,
  'signing secret':
    /^rpc\.(gateway\.(provision-endpoint|rotate-endpoint-secret|create-webhook|rotate-webhook-secret)|catalog\.(create|update)-listing)\.v\d+$/,
  'auth header': /^rpc\.gateway\.update-endpoint\.v\d+$/,
  'endpoint URL': /^rpc\.(gateway\.(provision|update)-endpoint|catalog\.(create|update)-listing)\.v\d+$/,
  'call body': /^rpc\.gateway\.execute-call\.v\d+$/,
  'encryption key': /^nothing carries it$/,
};
/** Secrets that the owner gets once, when they are created, and nobody else gets. */
const SHOWN_ONCE: Kind[] = ['API key', 'session token', 'signing secret'];

type Kind =
  'API key' | 'session token' | 'signing secret' | 'auth header' | 'endpoint URL' | 'call body' | 'encryption key';

interface Secret {
  kind: Kind;
  text: string;
}

/** The text itself, as PostgreSQL prints bytes, and as base64 at any position in a text. */
const spellingsOf = ({ text }: Secret): string[] => [
  text,
  Buffer.from(text).toString('hex'),
  Buffer.from(text).toString('base64').slice(4, -4),
  ...(text.startsWith('whsec_') ? [Buffer.from(text.slice(6), 'base64').toString('hex')] : []),
];
const foundIn = (secrets: Secret[], text: string): Secret[] =>
  secrets.filter((secret) => spellingsOf(secret).some((spelling) => text.includes(spelling)));
const leaks = (where: string, secrets: Secret[]): string[] =>
  secrets.map(({ kind, text }) => `${where} holds the ${kind} ${text}`);

inEachMode('secrets', ({ mode }) => {
  let marketplace: RunningMarketplace;
  let fixtures: Fixtures;
  let description: ApiDescription;
  let redis: RedisTap | undefined;
  let seller: SellerServer;
  const secrets: Secret[] = [];
  /** All answers, with their requests. */
  const answers: { asked: string; text: string }[] = [];
  const plainFetch = globalThis.fetch;
  const keep = <T extends string>(kind: Kind, text: T): T => {
    secrets.push({ kind, text });
    return text;
  };

  beforeAll(async () => {
    marketplace = await startMarketplace({
      mode,
      env: { LOG_LEVEL: 'debug', ENCRYPTION_KEYS: `k1:${ENCRYPTION_KEY}` },
      traceBus: true,
    });
    keep('encryption key', ENCRYPTION_KEY);
    redis = marketplace.redisUrl === undefined ? undefined : await RedisTap.on(marketplace.redisUrl);
    globalThis.fetch = async (input, init) => {
      const answer = await plainFetch(input, init);
      const text = await answer.clone().text();
      answers.push({
        asked: `${init?.method ?? 'GET'} ${String(input instanceof Request ? input.url : input)}`,
        text: `${JSON.stringify([...answer.headers])}\n${text}`,
      });
      return answer;
    };
    description = await ApiDescription.read(marketplace);
    seller = await sellerServer(
      ({ body }) => ((body as { fail?: boolean }).fail ? reply(500, 'no') : { answered: body }),
      { secret: () => secrets.filter(({ kind }) => kind === 'signing secret').map(({ text }) => text) },
    );
    fixtures = await Fixtures.create(marketplace);
    await live();
  }, 240_000);

  afterAll(async () => {
    globalThis.fetch = plainFetch;
    await expectBooksInOrder(marketplace);
    redis?.close();
    await fixtures?.close();
    await seller?.close();
    await marketplace?.stop();
  }, 120_000);

  /** Creates, uses, fails with, and replaces each kind of secret. */
  async function live(): Promise<void> {
    const { owner, merchant, outsider } = fixtures;
    const anyone = new Marketplace({ baseUrl: marketplace.baseUrl });
    for (const agent of [owner, merchant, outsider]) keep('API key', agent.registration.api_key);
    for (const key of Object.values(fixtures.keys)) keep('API key', key);
    for (const token of [fixtures.human.token, fixtures.endedSession]) keep('session token', token);
    const again = await signIn(marketplace, fixtures.human.wallet);
    keep('session token', again.token);
    const recovered = await anyone.request<{ api_key: string }>('POST', '/auth/recover', {
      body: await liveProof('recover', fixtures, marketplace),
    });
    keep('API key', recovered.api_key);

    const url = (): string => `${seller.url}/${keep('endpoint URL', canary())}?token=${keep('endpoint URL', canary())}`;
    const recoveredAgent = anyone.authorizedBy(`Bearer ${recovered.api_key}`);
    const listing = await recoveredAgent.listings.create({
      name: `Discreet ${canary()}`,
      description: 'Keeps its address to itself.',
      pricing_model: 'per_call',
      pricing_amount: 0.25,
      private_endpoint_url: url(),
    });
    keep('signing secret', listing.gateway_signing_secret!);
    const { endpoint } = recoveredAgent;
    await recoveredAgent.listings.update(listing, { private_endpoint_url: url() });
    await endpoint.update(listing, {
      private_endpoint_url: url(),
      auth_header: { name: 'X-Seller-Key', value: keep('auth header', canary()) },
    });
    await endpoint.test(listing);
    keep('signing secret', (await endpoint.rotateSecret(listing, { overlapSeconds: 60 })).gateway_signing_secret);
    const webhook = await recoveredAgent.webhooks.create({ url: `${seller.url}/events` });
    keep('signing secret', webhook.secret);
    keep('signing secret', (await recoveredAgent.webhooks.rotateSecret(webhook)).secret);

    for (const fail of [false, true]) {
      const body = { ask: keep('call body', canary()), fail };
      const relayRequestId = await payFor(owner, listing, body);
      const answer = await callOnce(owner, listing, body, withRelayId(relayRequestId));
      expect([answer.status, resultOf(answer).billable]).toEqual([200, !fail]);
    }
    await misuse();
  }

  /** Common mistakes of clients with keys. */
  async function misuse(): Promise<void> {
    const key = fixtures.keys.all;
    const market = new Marketplace({ baseUrl: marketplace.baseUrl });
    const client = new RawClient(marketplace);
    for (const target of [
      `/api/v1/me?api_key=${key}`,
      `/api/v1/api-keys/${key}`,
      `/api/v1/listings/${key}`,
      `/api/v1/receipts?cursor=${key}`,
      `/${key}`,
    ]) {
      const ways: RawRequest['headers'][] = [
        { authorization: key },
        { authorization: `Basic ${key}` },
        { authorization: `Bearer ${key}` },
        { authorization: [`Bearer ${key}`, `Bearer ${key}`] },
        { 'x-api-key': key },
        { cookie: `am_session=${fixtures.human.token}` },
      ];
      for (const headers of ways) {
        await client.send({ method: 'GET', target, headers });
        await client.send({
          method: 'DELETE',
          target,
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify({ key }),
        });
      }
    }
    client.close();
    for (const path of ['/register', '/auth/recover', '/auth/challenge', '/auth/session'])
      await market.send('POST', path, {
        body: { wallet_address: key, api_key: key, signature: key, nonce: key, pow_nonce: key },
      });
    await market.send('POST', '/register', { rawBody: `{"api_key": "${key}"` });
  }

  it('are shown once, to whom they belong, and never again in any answer [spec: api-key.key, listing.private-endpoint-url]', async () => {
    const before = answers.length;
    const reads = description.operations.filter(({ method }) => method === 'GET');
    await inParallel(reads, async ({ path, id }) => {
      const own = ACCESS_ROWS[id]?.id;
      const target = path.replace(/\{\w+\}/, own ? await own.own(fixtures) : '');
      for (const market of [
        fixtures.owner.market,
        fixtures.outsider.market,
        fixtures.owner.market.authorizedBy(`Bearer ${fixtures.human.token}`),
      ])
        await market.send('GET', target);
    });
    expect(answers.length - before).toBeGreaterThan(50);
    const shown = secrets.flatMap((secret) => {
      const holding = answers.filter(({ text }) => foundIn([secret], text).length > 0);
      const allowed = SHOWN_ONCE.includes(secret.kind) ? 1 : 0;
      // The seller echoes the body of a call to its buyer.
      const unexpected = holding.filter(({ asked }) => secret.kind !== 'call body' || !asked.includes('/gateway/'));
      return unexpected.length > allowed
        ? [`${secret.kind} ${secret.text}: ${unexpected.map(({ asked }) => asked).join(', ')}`]
        : [];
    });
    expect(shown).toEqual([]);
  }, 240_000);

  it('stay out of logs, events, messages, caches and tables, whatever happens [spec: gateway-rule.4]', async () => {
    await withClient(marketplace.databaseUrl, async (database) => {
      // Causes all kinds of failures with these credentials.
      const harness: Harness = { mode, baseUrl: marketplace.baseUrl, databaseUrl: marketplace.databaseUrl };
      const client = new RawClient(harness);
      const run = new FuzzRun(harness, description, fixtures, client, await DatabaseWatch.over(database));
      await run.run({ seed: 1, requests: 500 });
      client.close();
      expect(run.problems).toEqual([]);

      for (const name of marketplace.processes)
        expect(leaks(`the log of ${name}`, foundIn(secrets, marketplace.logs(name)))).toEqual([]);
      expect(marketplace.processes.map((name) => marketplace.logs(name)).join('').length).toBeGreaterThan(1_000);

      const found: string[] = [];
      for (const [table, rows] of await dumpOf(database)) {
        // A seller's answer is stored for its buyer.
        const kept =
          table === 'gateway.gateway_requests' ? secrets.filter(({ kind }) => kind !== 'call body') : secrets;
        found.push(...leaks(table, foundIn(kept, rows)));
      }
      expect(found).toEqual([]);
    });
    if (mode === 'standalone') return;
    const messages = messagesIn(marketplace.logs('nats'));
    expect(messages.filter(({ subject }) => subject.startsWith('evt.')).length).toBeGreaterThan(10);
    expect(messages.filter(({ isAnswer }) => isAnswer).length).toBeGreaterThan(100);
    // Checks that the tap records requests and answers, by secrets that must be transmitted.
    for (const kind of SHOWN_ONCE)
      expect([
        kind,
        messages.some(
          ({ subject, isAnswer, payload }) =>
            isAnswer &&
            CARRIERS[kind].test(subject) &&
            foundIn(
              secrets.filter((secret) => secret.kind === kind),
              payload,
            ).length > 0,
        ),
      ]).toEqual([kind, true]);
    const carried = messages.flatMap(({ subject, payload }) =>
      leaks(
        subject,
        foundIn(
          secrets.filter(({ kind }) => !CARRIERS[kind].test(subject)),
          payload,
        ),
      ),
    );
    expect([...new Set(carried)]).toEqual([]);
    expect(leaks('Redis', foundIn(secrets, redis!.text()))).toEqual([]);
    expect(redis!.text().length).toBeGreaterThan(100);
  }, 240_000);
});
