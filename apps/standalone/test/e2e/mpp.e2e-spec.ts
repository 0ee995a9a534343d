import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as LatestClient, StreamableHTTPClientTransport as LatestTransport } from '@modelcontextprotocol/client';
import { reply } from '@market/sdk/seller';
import { Challenge, Credential, Receipt } from 'mppx';
import { McpClient } from 'mppx/mcp/client';
import { x402HTTPClient, x402Client } from '@x402/fetch';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { expectBooksInOrder } from '../support/books.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';
import { listFeed } from '../support/subscriber.js';
import { jsonPost, mppClient, mppMethods } from '../support/stock-client.js';

interface Problem {
  type: string;
  success: boolean;
  error: { code: string; details?: { reason?: string } };
}

/** Unmodified clients of `mppx`. */
inEachMode('a client of the Machine Payments Protocol', (harness) => {
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;
  let failing: number | null = null;

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    shop = await openShop(seller, ({ body }) => (failing ? reply(failing, { sorry: true }) : { echo: body }), {
      pricing_amount: 0.25,
    });
  });
  afterAll(async () => {
    await expectBooksInOrder(harness, [shop]);
    await shop.close();
  });

  const url = (path: 'x402' | 'gateway'): string => `${harness.baseUrl}/api/v1/${path}/${shop.listing.slug}`;
  const bearer = (): Record<string, string> => ({ authorization: buyer.registration.authorization_header });
  const apiKey = (): Record<string, string> => ({ 'x-api-key': buyer.registration.api_key });
  const timesCalled = (body: object): number =>
    shop.requests.filter((request) => JSON.stringify(request.body) === JSON.stringify(body)).length;
  /** Asks for an offer, and signs it without sending what was signed. */
  const sign = async (body: object, account = privateKeyToAccount(generatePrivateKey())) => {
    const asked = await fetch(url('x402'), jsonPost(body));
    return { asked, credential: await mppClient(account).createCredential(asked) };
  };
  const send = (credential: string, body: object): Promise<Response> =>
    fetch(url('x402'), jsonPost(body, { authorization: credential }));
  const problemOf = async (answer: Response): Promise<unknown> => {
    const { type, success, error } = (await answer.json()) as Problem;
    expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    expect(answer.headers.get('www-authenticate')).toMatch(/^Payment id="/);
    expect([success, error.code, answer.headers.has('payment-receipt')]).toEqual([false, 'PAYMENT_REQUIRED', false]);
    return [answer.status, type.replace('https://paymentauth.org/problems/', ''), error.details?.reason];
  };

  it('is asked for the same offer as an x402 client, by one 402', async () => {
    for (const [path, headers] of [['x402', {}] as const, ['gateway', bearer()] as const]) {
      const asked = await fetch(url(path), jsonPost({ for: path }, headers));
      expect([asked.status, asked.headers.get('content-type')]).toEqual([402, 'application/json; charset=utf-8']);
      const x402 = new x402HTTPClient(new x402Client()).getPaymentRequiredResponse((name) => asked.headers.get(name));
      const challenges = Challenge.fromResponseList(asked);
      const [terms] = x402.accepts as [(typeof x402.accepts)[0]];
      expect(challenges).toMatchObject([
        {
          realm: new URL(x402.resource.url).host,
          method: 'evm',
          intent: 'charge',
          request: {
            amount: terms.amount,
            currency: terms.asset,
            recipient: terms.payTo,
            methodDetails: { chainId: Number(terms.network.split(':')[1]), credentialTypes: ['authorization'] },
          },
        },
      ]);
      const id = Buffer.from(challenges[0]!.id.split('.')[0]!, 'base64url').subarray(0, 32).toString('hex');
      expect(`0x${id}`).toBe((terms.extra as { relayRequestId: string }).relayRequestId);
    }
  });

  it.each<[string, 'x402' | 'gateway', () => Record<string, string>, string]>([
    ['without a key', 'x402', () => ({}), 'authorization'],
    ['with a key in Authorization', 'gateway', bearer, 'payment-authorization'],
    ['with a key in X-Api-Key', 'gateway', apiKey, 'authorization'],
  ])('%s buys with fetch: asked, signed, answered, charged once, with a receipt', async (how, path, headers, field) => {
    const account = privateKeyToAccount(generatePrivateKey());
    const sent: Headers[] = [];
    const client = mppClient(account, (input, init) => {
      sent.push(new Request(input, init).headers);
      return fetch(input, init);
    });
    const body = { how };
    const answer = await client.fetch(url(path), jsonPost(body, headers()));
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { data: { billable: true, charged_amount: { amount_cents: 25 }, seller_response: { echo: body } } },
    ]);
    expect(sent.map((each) => each.get(field)?.startsWith('Payment ') ?? false)).toEqual([false, true]);
    const receipt = Receipt.fromResponse(answer);
    expect(receipt).toMatchObject({
      method: 'evm',
      status: 'success',
      chainId: 84_532,
      challengeId: Credential.deserialize(sent[1]!.get(field)!).challenge.id,
    });
    expect(Math.abs(Date.parse(receipt.timestamp) - Date.now())).toBeLessThan(60_000);
    const [sale] = (await seller.market.receipts.list({ role: 'seller' })).data;
    expect(sale).toMatchObject({ transaction_hash: receipt.reference, gross_amount: 0.25 });
    expect(timesCalled(body)).toBe(1);
  });

  it('buys once under one Idempotency-Key, whatever became of the first answer', async () => {
    const body = { named: true };
    const init = jsonPost(body, { ...bearer(), 'idempotency-key': 'mpp-named' });
    const first = await mppClient().fetch(url('gateway'), init);
    const again = await mppClient().fetch(url('gateway'), init);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
    expect(await again.text()).toBe(await first.text());
    expect(timesCalled(body)).toBe(1);
  });

  it('gets the same answer and the same receipt for one credential, 16 times at once and later', async () => {
    const body = { crowd: true };
    const { credential } = await sign(body);
    const crowd = await Promise.all(Array.from({ length: 16 }, () => send(credential, body)));
    const later = await send(credential, body);
    const told = async (answer: Response): Promise<unknown> => [
      answer.status,
      await answer.text(),
      answer.headers.get('payment-receipt'),
    ];
    const expected = await told(later);
    expect(expected).toMatchObject([200, expect.any(String), expect.any(String)]);
    for (const answer of crowd) expect(await told(answer)).toEqual(expected);
    expect(timesCalled(body)).toBe(1);
  });

  it.each([503, 404])(
    'is not charged where the seller answers %i, and what it signed is good for the next try',
    async (status) => {
      const body = { status };
      const { credential } = await sign(body);
      failing = status;
      const failed = await send(credential, body).finally(() => (failing = null));
      expect([failed.status, failed.headers.has('payment-receipt'), await failed.json()]).toMatchObject([
        200,
        false,
        { data: { billable: false } },
      ]);
      const second = await send(credential, body);
      expect([second.status, second.headers.has('payment-receipt')]).toEqual([200, true]);
    },
  );

  it('is told in problem details why a credential pays nothing, with a new challenge, and others in the envelope', async () => {
    const body = { refused: true };
    const { asked, credential } = await sign(body);
    const plain = (await asked.json()) as object;
    expect(plain).not.toHaveProperty('type');
    const unpaid = await fetch(url('x402'), jsonPost(body, { 'accept-payment': 'evm/charge' }));
    expect(await problemOf(unpaid)).toEqual([402, 'payment-required', undefined]);

    const decoded = Credential.deserialize<Record<string, string>>(credential);
    const { payload, challenge } = decoded;
    const changed = (of: object): string => Credential.serialize({ ...decoded, ...of });
    const inChallenge = (of: object): string => changed({ challenge: { ...challenge, ...of } });
    const inPayload = (of: object): string => changed({ payload: { ...payload, ...of } });
    const { signature } = payload as { signature: string };
    const wrong: [string, string, string][] = [
      ['Payment', 'malformed-credential', 'malformed_credential'],
      ['Payment !', 'malformed-credential', 'malformed_credential'],
      [`Payment ${Buffer.from('{}').toString('base64url')}`, 'malformed-credential', 'malformed_credential'],
      [inChallenge({ realm: 'other.example' }), 'invalid-challenge', 'invalid_challenge'],
      [inChallenge({ expires: '2099-01-01T00:00:00Z' }), 'invalid-challenge', 'invalid_challenge'],
      [inChallenge({ header: 'Payment-Authorization' }), 'invalid-challenge', 'invalid_challenge'],
      [inChallenge({ request: { ...challenge.request, amount: '1' } }), 'invalid-challenge', 'invalid_challenge'],
      [changed({ payload: { type: 'hash', hash: `0x${'1'.repeat(64)}` } }), 'invalid-payload', 'invalid_payload'],
      [inPayload({ nonce: `0x${'1'.repeat(64)}` }), 'verification-failed', 'verification_failed'],
      [inPayload({ validBefore: '4102444800' }), 'verification-failed', 'verification_failed'],
      [inPayload({ signature: `${signature.slice(0, -4)}0000` }), 'verification-failed', 'invalid_exact_evm_signature'],
      [inPayload({ value: '1' }), 'verification-failed', 'invalid_exact_evm_signature'],
    ];
    for (const [given, type, reason] of wrong) {
      const answer = await send(given, body);
      const fresh = answer.headers.get('www-authenticate');
      expect(await problemOf(answer)).toEqual([402, type, reason]);
      expect(fresh).not.toContain(challenge.id);
    }
    // The digest of the body is bound, even where another text means the same.
    const [, init] = [null, jsonPost(body, { authorization: credential })];
    expect(await problemOf(await fetch(url('x402'), { ...init, body: '{ "refused": true }' }))).toEqual([
      402,
      'invalid-challenge',
      'invalid_challenge',
    ]);
    // A challenge is answered in the header that it names.
    const elsewhere = await fetch(url('x402'), jsonPost(body, { 'payment-authorization': credential }));
    expect(await problemOf(elsewhere)).toEqual([402, 'invalid-challenge', 'invalid_challenge']);
    const read = await fetch(url('x402'), { headers: { authorization: credential } });
    expect([read.status, timesCalled(body)]).toEqual([400, 0]);
    expect((await send(credential, body)).status).toBe(200);
    expect(timesCalled(body)).toBe(1);
  });

  it('pays one call with one credential: for other listings and with a key it calls nobody', async () => {
    const body = { once: true };
    const other = await openShop(seller, undefined, { pricing_amount: 0.25 });
    const { credential } = await sign(body);
    const with_ = (to: string, headers: Record<string, string>): Promise<Response> =>
      fetch(to, jsonPost(body, headers));
    expect((await send(credential, body)).status).toBe(200);
    const foreign = await with_(`${harness.baseUrl}/api/v1/x402/${other.listing.slug}`, { authorization: credential });
    expect([foreign.status, (await foreign.json()) as object]).toMatchObject([
      409,
      { error: { details: { reason: 'listing_mismatch' } } },
    ]);
    const keyed = await with_(url('gateway'), { authorization: credential, ...apiKey() });
    expect([keyed.status, timesCalled(body), other.requests.length]).toEqual([404, 1, 0]);
    await other.close();
  });

  it('is asked for its key first, and a wrong one in X-Api-Key is refused', async () => {
    const { credential } = await sign({ keyless: true });
    for (const headers of [{}, { authorization: credential }, { 'x-api-key': 'am_k_nobody' }]) {
      const answer = await fetch(url('gateway'), jsonPost({}, headers as Record<string, string>));
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
        401,
        'Bearer realm="agent-marketplace"',
      ]);
    }
    const me = await fetch(`${harness.baseUrl}/api/v1/me`, { headers: apiKey() });
    expect([me.status, await me.json()]).toMatchObject([200, { data: { id: buyer.id } }]);
  });

  it('pays a period of a subscription', async () => {
    const feed = await listFeed(seller);
    const paid = await mppClient().fetch(
      `${harness.baseUrl}/api/v1/subscribe`,
      jsonPost({ listing_id: feed.id }, bearer()),
    );
    expect([paid.status, await paid.json()]).toMatchObject([201, { data: { status: 'active' } }]);
    expect(Receipt.fromResponse(paid)).toMatchObject({ method: 'evm' });
  });

  describe('over MCP', () => {
    const open: { close(): Promise<void> }[] = [];
    afterEach(async () => void (await Promise.all(open.splice(0).map((client) => client.close()))));
    const connect = async (path: string, headers: Record<string, string> = {}, through = fetch): Promise<Client> => {
      const client = new Client({ name: 'test', version: '1' });
      const to = new URL(`${harness.baseUrl}/mcp${path}`);
      await client.connect(
        new StreamableHTTPClientTransport(to, { requestInit: { headers }, fetch: through }) as never,
      );
      open.push(client);
      return client;
    };
    const tool = (args: Record<string, unknown>) => ({ name: shop.listing.slug, arguments: args });

    it.each(['authorization', 'x-api-key', 'nothing'])(
      'buys with the wrapped client of the SDK, with %s for its key',
      async (field) => {
        const headers = { authorization: bearer(), 'x-api-key': apiKey(), nothing: {} }[field];
        const client = McpClient.wrap(await connect('', headers), { methods: [mppMethods()] });
        const body = { by: field };
        // With a key the sandbox would pay by itself what costs no more.
        const call = { listing: shop.listing.slug, body, max_price_usd: 0 };
        expect(await client.callTool({ name: 'call_listing', arguments: call })).toMatchObject({
          structuredContent: { billable: true, seller_response: { echo: body } },
          receipt: { method: 'evm', status: 'success', challengeId: expect.any(String) as string },
        });
        expect(timesCalled(body)).toBe(1);
      },
    );

    it('buys with its own fetch as the transport, which is told by the error of the protocol', async () => {
      const paying = mppClient();
      const client = await connect(`/${shop.listing.slug}`, {}, paying.fetch);
      const result = await client.callTool(tool({ through: 'fetch' }));
      expect(result).toMatchObject({ structuredContent: { seller_response: { echo: { through: 'fetch' } } } });
      const announced = { experimental: { payment: { methods: { evm: { intents: ['charge'] } } } } };
      const latest = new LatestClient(
        { name: 'test', version: '1' },
        { capabilities: announced, versionNegotiation: { mode: 'auto' } },
      );
      await latest.connect(new LatestTransport(new URL(`${harness.baseUrl}/mcp/${shop.listing.slug}`)));
      open.push(latest);
      for (const unpaid of [await connect(`/${shop.listing.slug}`, { 'accept-payment': 'evm/charge' }), latest])
        await expect(unpaid.callTool(tool({ unpaid: true }))).rejects.toMatchObject({
          code: -32_042,
          data: {
            httpStatus: 402,
            challenges: [{ method: 'evm', intent: 'charge', request: { amount: '250000' } }],
            problem: { type: 'https://paymentauth.org/problems/payment-required', status: 402 },
          },
        });
    });

    it.each<[string, number, (credential: Credential.Credential) => object]>([
      ['of another body', -32_043, (credential) => credential],
      ['without a payload', -32_602, ({ challenge }) => ({ challenge })],
      ['of nothing', -32_602, () => ({})],
    ])('is refused a credential %s by its code, with a new challenge', async (_what, code, credentialOf) => {
      const client = await connect(`/${shop.listing.slug}`);
      const { credential } = await sign({ signed: true });
      const _meta = { 'org.paymentauth/credential': credentialOf(Credential.deserialize(credential)) };
      await expect(client.callTool({ ...tool({ other: true }), _meta })).rejects.toMatchObject({
        code,
        data: { challenges: [{ method: 'evm' }] },
      });
      expect(timesCalled({ other: true })).toBe(0);
    });
  });
});
