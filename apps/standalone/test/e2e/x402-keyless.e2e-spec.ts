import { evmWallet } from '@market/sdk';
import { reply } from '@market/sdk/seller';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch';
import { validateDiscoveryExtension, validateDiscoveryExtensionSpec } from '@x402/extensions/bazaar';
import {
  decodeSignedOffers,
  extractJWSHeader,
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  findAcceptsObjectFromSignedOffer,
  verifyOfferSignatureJWS,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureJWS,
  type JWSSignedOffer,
  type JWSSignedReceipt,
} from '@x402/extensions/offer-receipt';
import { appendPaymentIdentifierToExtensions, validatePaymentIdentifier } from '@x402/extensions/payment-identifier';
import { eventually, withClient } from '@market/testing';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';
import { expectBooksInOrder } from '../support/books.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

interface Result {
  data: { billable: boolean; request_id: string; charged_amount: { amount_cents: number }; seller_response: unknown };
}

const payerOf = (): { account: PrivateKeyAccount; client: x402Client; pay: typeof fetch } => {
  const account = privateKeyToAccount(generatePrivateKey());
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(account));
  return { account, client, pay: wrapFetchWithPayment(fetch, client) };
};

/** Unmodified clients of their packages, which only have a wallet: no key and no account. */
inEachMode('an x402 client without a key', (harness) => {
  let seller: Agent;
  let shop: Shop;
  let cheap: Shop;
  let failing = false;
  let slow = false;

  beforeAll(async () => {
    seller = await registerAgent(harness, { displayName: 'Seller' });
    const handler = async ({ body }: { body: unknown }) => {
      if (slow) await delay(500);
      return failing ? reply(503, { sorry: true }) : { echo: body };
    };
    // `cheap` is priced in SOL and below the minimum of transfers on EVM chains; a signature can pay it nevertheless.
    [shop, cheap] = await Promise.all([
      openShop(seller, handler, { pricing_amount: 0.25 }),
      openShop(seller, handler, { pricing_amount: 0.002, preferred_currency: 'SOL' }),
    ]);
  });
  afterAll(async () => {
    await expectBooksInOrder(harness, [shop, cheap]);
    await Promise.all([shop.close(), cheap.close()]);
  });

  const urlOf = ({ listing }: Shop): string => `${harness.baseUrl}/api/v1/x402/${listing.slug}`;
  const post = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const encoded = (payload: unknown): Record<string, string> => ({
    'payment-signature': Buffer.from(JSON.stringify(payload)).toString('base64'),
  });
  const ask = async (client: x402Client, to: Shop = shop) => {
    const asked = await fetch(urlOf(to), post({}));
    return new x402HTTPClient(client).getPaymentRequiredResponse((name) => asked.headers.get(name), await asked.json());
  };
  const counts = async (): Promise<unknown> => {
    const client = new pg.Client({ connectionString: harness.databaseUrl });
    await client.connect();
    try {
      const { rows } = await client.query(
        `SELECT (SELECT count(*) FROM payments_ledger.payments) AS payments,
           (SELECT count(*) FROM identity.accounts) AS accounts,
           (SELECT count(*) FROM gateway.gateway_requests) AS requests`,
      );
      return rows[0];
    } finally {
      await client.end();
    }
  };

  it('pays a listing with fetch: asked, signed, answered, charged once', async () => {
    const { account, client, pay } = payerOf();
    const before = shop.requests.length;
    const response = await pay(urlOf(shop), post({ city: 'Bern' }));
    expect(response.status).toBe(200);
    const { data } = (await response.json()) as Result;
    expect(data).toMatchObject({
      billable: true,
      charged_amount: { amount_cents: 25, currency: 'USD' },
      seller_response: { echo: { city: 'Bern' } },
    });
    expect(shop.requests).toHaveLength(before + 1);
    const paid = new x402HTTPClient(client).getPaymentSettleResponse((name) => response.headers.get(name));
    expect(paid).toMatchObject({
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      network: 'eip155:84532',
      payer: account.address.toLowerCase(),
    });
    const { data: receipts } = await seller.market.receipts.list({ role: 'seller' });
    expect(receipts[0]).toMatchObject({ transaction_hash: paid.transaction, gross_amount: 0.25 });
  });

  it('pays less than a transfer carries', async () => {
    const response = await payerOf().pay(urlOf(cheap), post({ city: 'Oslo' }));
    expect([response.status, response.headers.has('payment-response')]).toEqual([200, true]);
    expect(((await response.json()) as Result).data).toMatchObject({
      charged_amount: { amount_cents: 0.2 },
      seller_response: { echo: { city: 'Oslo' } },
    });
  });

  it('owns what its wallet bought once it registers', async () => {
    const key = generatePrivateKey();
    const pay = wrapFetchWithPayment(
      fetch,
      new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(key))),
    );
    const { data } = (await (await pay(urlOf(shop), post({ city: 'Rome' }))).json()) as Result;
    const buyer = await registerAgent(harness, { wallet: evmWallet(key), displayName: 'Late bird' });
    const history = await buyer.market.gatewayRequests.list({ role: 'buyer' });
    expect(history.data).toMatchObject([
      { request_id: data.request_id, status: 'succeeded', payment: { scheme: 'exact', network: 'eip155:84532' } },
    ]);
    expect((await buyer.market.receipts.list({ role: 'buyer' })).data).toHaveLength(1);
    // It can still pay without its key.
    expect((await pay(urlOf(shop), post({ city: 'Pisa' }))).status).toBe(200);
    expect((await buyer.market.gatewayRequests.list({ role: 'buyer' })).pagination.total).toBe(2);
  });

  it('is not served once the holder of its wallet has disabled it, and still given what it paid for', async () => {
    const owner = await registerAgent(harness);
    const key = generatePrivateKey();
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(key)));
    const linked = await owner.market.wallets.link(owner.wallet, evmWallet(key));
    const pay = async (): Promise<RequestInit> =>
      post({ city: 'Ulm' }, encoded(await client.createPaymentPayload(await ask(client))));
    const paid = await pay();
    const bought = await (await fetch(urlOf(shop), paid)).text();
    await owner.market.wallets.update(linked, owner.wallet, { status: 'disabled' });
    const refused = async (): Promise<void> => {
      const answer = await fetch(urlOf(shop), await pay());
      expect([answer.status, await answer.json()]).toMatchObject([
        403,
        {
          error: {
            code: 'FORBIDDEN',
            details: { reason: 'wallet_cannot_pay' },
            recovery: { next_action: 'link_wallet' },
          },
        },
      ]);
    };
    // The ledger caches the state of a wallet for up to ten seconds.
    await eventually(refused, { withinMs: 60_000 });
    const [before, calls] = [await counts(), shop.requests.length];
    await refused();
    expect([await counts(), shop.requests.length]).toEqual([before, calls]);
    expect(await (await fetch(urlOf(shop), paid)).text()).toBe(bought);
  });

  it.each([
    ['GET', ''],
    ['POST', ''],
    ['POST', '{}'],
    ['POST', 'not json'],
    ['POST', '[]'],
  ])('is asked to pay a %s of %p before its body is looked at, and leaves no trace', async (method, body) => {
    const before = await counts();
    const response = await fetch(urlOf(shop), method === 'GET' ? {} : post(body));
    expect(response.status).toBe(402);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const answer = (await response.json()) as {
      data: { payment: { x402: { accepts: object[]; resource: object; extensions: Record<string, never> } } };
    };
    const { extensions, ...terms } = answer.data.payment.x402;
    // The header has the same with empty schemas of the extensions.
    expect(JSON.parse(Buffer.from(response.headers.get('payment-required')!, 'base64').toString())).toEqual({
      ...terms,
      extensions: Object.fromEntries(
        Object.entries(extensions).map(([name, { info }]) => [name, { info, schema: {} }]),
      ),
    });
    expect(answer).toMatchObject({
      success: false,
      error: { code: 'PAYMENT_REQUIRED', recovery: { next_action: 'pay_and_retry' } },
      data: {
        payment: {
          status: 'pending',
          fees: { gross_amount: 0.25 },
          x402: {
            resource: {
              url: expect.stringMatching(new RegExp(`^http.*/api/v1/x402/${shop.listing.slug}$`)) as string,
              mimeType: 'application/json',
            },
            accepts: [{ scheme: 'exact', amount: '250000' }],
          },
        },
      },
    });
    const { bazaar, 'payment-identifier': identifier } = extensions;
    expect(validateDiscoveryExtension(bazaar!)).toEqual({ valid: true });
    expect(validateDiscoveryExtensionSpec(bazaar!)).toMatchObject({ valid: true });
    expect(validatePaymentIdentifier(identifier)).toMatchObject({ valid: true });
    expect(await counts()).toEqual(before);
  });

  it('that hands its signature in again, however often, gets the same answer, charged once', async () => {
    const { client } = payerOf();
    const payload = await client.createPaymentPayload(await ask(client));
    const before = shop.requests.length;
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => fetch(urlOf(shop), post({ city: 'Graz' }, encoded(payload)))),
    );
    const done = answers.filter(({ status }) => status === 200);
    expect(done.length).toBeGreaterThan(0);
    for (const { status } of answers) expect([200, 202]).toContain(status);
    const again = await fetch(urlOf(shop), post({ city: 'Graz' }, encoded(payload)));
    expect(new Set(await Promise.all([...done, again].map((response) => response.text()))).size).toBe(1);
    expect(shop.requests).toHaveLength(before + 1);
    const other = await fetch(urlOf(shop), post({ city: 'Linz' }, encoded(payload)));
    expect([
      other.status,
      ((await other.json()) as { error: { details: { reason: string } } }).error.details.reason,
    ]).toEqual([409, 'request_body_mismatch']);
    const elsewhere = await fetch(urlOf(cheap), post({ city: 'Graz' }, encoded(payload)));
    expect([
      elsewhere.status,
      ((await elsewhere.json()) as { error: { details: { reason: string } } }).error.details.reason,
    ]).toEqual([409, 'listing_mismatch']);
  });

  it('that names its purchase gets its answer also for another signature, charged once', async () => {
    const { client } = payerOf();
    const before = shop.requests.length;
    const named = async (body: object): Promise<Response> => {
      const payload = await client.createPaymentPayload(await ask(client));
      const extensions = appendPaymentIdentifierToExtensions({ ...payload.extensions }, 'purchase_0123456789');
      return fetch(urlOf(shop), post(body, encoded({ ...payload, extensions })));
    };
    const first = await named({ city: 'Nice' });
    const second = await named({ city: 'Nice' });
    expect([first.status, second.status, second.headers.get('idempotency-replayed')]).toEqual([200, 200, 'true']);
    expect(await second.text()).toBe(await first.text());
    expect(shop.requests).toHaveLength(before + 1);
    const other = await named({ city: 'Nizza' });
    expect([
      other.status,
      ((await other.json()) as { error: { details: { reason: string } } }).error.details.reason,
    ]).toEqual([409, 'idempotency_key_reused']);
  });

  it('that signs again under one key while its call is under way is charged once', async () => {
    const { client } = payerOf();
    const before = shop.requests.length;
    const buy = async (): Promise<Response> => {
      const payload = await client.createPaymentPayload(await ask(client));
      return fetch(urlOf(shop), post({ city: 'Ulm' }, { ...encoded(payload), 'idempotency-key': 'one-purchase' }));
    };
    slow = true;
    const answers = await Promise.all(Array.from({ length: 6 }, buy));
    slow = false;
    for (const { status } of answers) expect([200, 202]).toContain(status);
    const later = await buy();
    expect([later.status, later.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
    const done = answers.filter(({ status }) => status === 200);
    expect(new Set(await Promise.all([...done, later].map((response) => response.text()))).size).toBe(1);
    expect(shop.requests).toHaveLength(before + 1);
  });

  it('that pays the same call under two accounts and under none meanwhile is charged once', async () => {
    const { pay } = payerOf();
    const accounts = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const held = await openShop(seller, () => released.then(() => ({ once: true })));
    const [first, second] = accounts.map(
      ({ registration }) =>
        () =>
          pay(
            `${harness.baseUrl}/api/v1/gateway/${held.listing.slug}`,
            post({ n: 1 }, { authorization: registration.authorization_header }),
          ),
    ) as [() => Promise<Response>, () => Promise<Response>];
    const answered = first();
    await eventually(() => expect(held.requests).toHaveLength(1));
    const other = await second();
    expect([other.status, await other.json()]).toMatchObject([
      202,
      { data: { code: 'PAYMENT_PENDING', reason: 'call_in_progress', recovery: { sign_again: false } } },
    ]);
    const keyless = await pay(urlOf(held), post({ n: 1 }));
    expect([keyless.status, await keyless.json()]).toMatchObject([202, { data: { reason: 'call_in_progress' } }]);
    release();
    expect((await answered).status).toBe(200);
    expect(held.requests).toHaveLength(1);
    // The other account's call is its own: the same request is taken once the first is over.
    await eventually(async () => expect((await second()).status).toBe(200));
    expect(held.requests).toHaveLength(2);
    await expectBooksInOrder(harness, [held]);
    await held.close();
  });

  it('that signs again under one key after the seller failed is charged once, by what is still good', async () => {
    const { client, account } = payerOf();
    const signed = async (): Promise<Result['data']> => {
      const payload = await client.createPaymentPayload(await ask(client));
      const response = await fetch(
        urlOf(shop),
        post({ city: 'Bonn' }, { ...encoded(payload), 'idempotency-key': 'second-try' }),
      );
      return ((await response.json()) as Result).data;
    };
    const before = shop.requests.length;
    failing = true;
    const first = await signed();
    // The first signature is tried again, and the second one is not taken.
    expect(await signed()).toMatchObject({ billable: false, request_id: first.request_id });
    await withClient(harness.databaseUrl, async (database) => {
      const signedByIt = 'id IN (SELECT payment_id FROM payments_ledger.authorizations WHERE payer = lower($1))';
      await database.query(`UPDATE payments_ledger.payments SET retry_until = now() WHERE ${signedByIt}`, [
        account.address,
      ]);
      const states = async () =>
        (
          await database.query<{ state: string }>(`SELECT state FROM payments_ledger.payments WHERE ${signedByIt}`, [
            account.address,
          ])
        ).rows.map(({ state }) => state);
      await eventually(async () => expect(await states()).toEqual(['cancelled']), { withinMs: 20_000 });
    });
    failing = false;
    const paid = await signed();
    expect([paid.billable, paid.request_id === first.request_id]).toEqual([true, false]);
    expect((await signed()).request_id).toBe(paid.request_id);
    expect(shop.requests).toHaveLength(before + 3);
  });

  it('is not charged where the seller fails, and what it signed is good for the next try', async () => {
    const { client } = payerOf();
    const payload = await client.createPaymentPayload(await ask(client));
    failing = true;
    const failed = await fetch(urlOf(shop), post({ city: 'Vaduz' }, encoded(payload)));
    expect([failed.status, failed.headers.get('payment-response')]).toEqual([200, null]);
    expect(((await failed.json()) as Result).data.billable).toBe(false);
    failing = false;
    const again = await fetch(urlOf(shop), post({ city: 'Vaduz' }, encoded(payload)));
    expect(((await again.json()) as Result).data).toMatchObject({
      billable: true,
      charged_amount: { amount_cents: 25 },
    });
  });

  it('is told why a signature does not pay, and that leaves no trace', async () => {
    const { client } = payerOf();
    const required = await ask(client);
    const payload = await client.createPaymentPayload(required);
    const { signature, authorization } = payload.payload as {
      signature: string;
      authorization: Record<string, string>;
    };
    const extra = payload.accepted.extra as Record<string, string>;
    const forgeries: [string, object][] = [
      [
        'invalid_exact_evm_signature',
        { ...payload, payload: { authorization, signature: `${signature.slice(0, -4)}0000` } },
      ],
      ['accepted_mismatch', { ...payload, accepted: { ...payload.accepted, amount: '1' } }],
      ['accepted_mismatch', { ...payload, accepted: { ...payload.accepted, payTo: authorization.from } }],
      [
        'accepted_mismatch',
        {
          ...payload,
          accepted: { ...payload.accepted, extra: { ...extra, offer: Buffer.from('["x"]').toString('base64url') } },
        },
      ],
      [
        'accepted_mismatch',
        { ...payload, accepted: { ...payload.accepted, extra: { ...extra, relayRequestId: `0x${'ab'.repeat(32)}` } } },
      ],
      ['invalid_payload', { ...payload, payload: {} }],
    ];
    const before = await counts();
    for (const [reason, forged] of forgeries) {
      const response = await fetch(urlOf(shop), post({ city: 'Metz' }, encoded(forged)));
      expect(response.status).toBe(402);
      expect(await response.json()).toMatchObject({
        error: { details: { reason }, recovery: { next_action: 'pay_and_retry', drop: ['PAYMENT-SIGNATURE'] } },
        data: { payment: { x402: { error: reason } } },
      });
    }
    expect(await counts()).toEqual(before);
    const deep = (levels: number): string =>
      `${JSON.stringify(payload).slice(0, -1)},"deep":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    const upper = {
      ...payload,
      accepted: {
        ...payload.accepted,
        extra: { ...extra, relayRequestId: extra.relayRequestId!.replace(/[a-f]/g, (digit) => digit.toUpperCase()) },
      },
    };
    const unread = [{ ...payload, resource: { url: 'https://\u0000' } }, { ...payload, note: '\ud800' }, upper].map(
      (forged) => JSON.stringify(forged),
    );
    const asked = shop.requests.length;
    const asSeller = { authorization: seller.registration.authorization_header };
    for (const text of [...unread, deep(33), deep(2_200), deep(100_000)]) {
      const base64 = Buffer.from(text).toString('base64');
      const answers = await Promise.all([
        fetch(urlOf(shop), post({ city: 'Metz' }, { 'payment-signature': base64 })),
        fetch(
          `${harness.baseUrl}/api/v1/gateway/${shop.listing.slug}`,
          post({ city: 'Metz' }, { 'payment-signature': base64, ...asSeller }),
        ),
        ...(text.includes('"deep"')
          ? [`"${base64}"`, text].map((json) =>
              fetch(
                `${harness.baseUrl}/api/v1/payments/verify`,
                post(`{"payment_id":"${randomUUID()}","payload":${json}}`, asSeller),
              ),
            )
          : []),
      ]);
      // Payloads that are longer than the server's limit are refused before their depth is checked.
      const expected = base64.length > 200_000 ? [431, 431, 413, 400] : [400, 400, 400, 400];
      expect(answers.map(({ status }) => status)).toEqual(expected.slice(0, answers.length));
      for (const answer of answers)
        expect(await answer.json()).toMatchObject({
          success: false,
          error: { recovery: { next_action: 'fix_request' } },
        });
    }
    expect(shop.requests).toHaveLength(asked);
    for (const body of ['not json', '[]', ''])
      expect((await fetch(urlOf(shop), post(body, encoded(payload)))).status).toBe(400);
    expect(await counts()).toEqual(before);
    expect((await fetch(urlOf(shop), post({ city: 'Metz' }, encoded(payload)))).status).toBe(200);
  });

  it('can hold the marketplace to its offer, and to its receipt', async () => {
    const { account, client, pay } = payerOf();
    const keys = (await (await fetch(`${harness.baseUrl}/.well-known/did.json`)).json()) as {
      id: string;
      verificationMethod: { id: string; publicKeyJwk: object }[];
    };
    const [{ id, publicKeyJwk }] = keys.verificationMethod as [{ id: string; publicKeyJwk: object }];
    const required = await ask(client);
    const [signedOffer] = extractOffersFromPaymentRequired(required as never) as [JWSSignedOffer];
    expect(extractJWSHeader(signedOffer.signature)).toEqual({ alg: 'EdDSA', kid: id });
    const [offer] = decodeSignedOffers([signedOffer]);
    expect(findAcceptsObjectFromSignedOffer(offer!, required.accepts)).toEqual(required.accepts[0]);
    expect(await verifyOfferSignatureJWS(signedOffer, publicKeyJwk as never)).toMatchObject({
      payTo: required.accepts[0]!.payTo,
      amount: '250000',
      resourceUrl: required.resource.url,
    });
    const [head, , tail] = signedOffer.signature.split('.');
    const forged = {
      ...signedOffer,
      signature: [head, Buffer.from(JSON.stringify({ payTo: account.address })).toString('base64url'), tail].join('.'),
    };
    await expect(verifyOfferSignatureJWS(forged, publicKeyJwk as never)).rejects.toThrow();

    const response = await pay(urlOf(shop), post({ city: 'Chur' }));
    const receipt = extractReceiptFromResponse(response) as JWSSignedReceipt;
    expect(await verifyReceiptSignatureJWS(receipt, publicKeyJwk as never)).toMatchObject({
      payer: account.address.toLowerCase(),
      network: 'eip155:84532',
    });
    expect(verifyReceiptMatchesOffer(receipt, offer!, [account.address])).toBe(true);
    expect(verifyReceiptMatchesOffer(receipt, offer!, [privateKeyToAccount(generatePrivateKey()).address])).toBe(false);
  });

  it('does not buy from itself', async () => {
    const client = new x402Client().register(
      'eip155:*',
      new ExactEvmScheme(privateKeyToAccount(seller.wallet.exportKey() as Hex)),
    );
    const response = await wrapFetchWithPayment(fetch, client)(urlOf(shop), post({}));
    expect([
      response.status,
      ((await response.json()) as { error: { details: { reason: string } } }).error.details.reason,
    ]).toEqual([403, 'own_listing']);
  });

  it('is told the price whatever it accepts, and a browser shows the page of the listing', async () => {
    const browser = await fetch(urlOf(shop), { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } });
    expect([browser.status, browser.headers.has('payment-required')]).toEqual([402, true]);
    expect(await browser.text()).toContain(`url=/listings/${shop.listing.slug}"`);
    const program = await fetch(urlOf(shop), { headers: { accept: '*/*' } });
    expect([program.status, await program.json()]).toMatchObject([402, { error: { code: 'PAYMENT_REQUIRED' } }]);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/xml'])(
    'is told the price of a probe of type %s',
    async (type) => {
      const probe = await fetch(urlOf(shop), { method: 'POST', headers: { 'content-type': type }, body: 'probe' });
      expect([probe.status, probe.headers.has('payment-required'), await probe.json()]).toMatchObject([
        402,
        true,
        { error: { details: { body: { reason: 'request_body_invalid', problem: 'invalid_json' } } } },
      ]);
    },
  );

  it('is told what it cannot call this way', async () => {
    const reasonOf = async (response: Response): Promise<unknown> => [
      response.status,
      ((await response.json()) as { error: { details: { reason: string } } }).error.details.reason,
    ];
    expect(await reasonOf(await fetch(`${harness.baseUrl}/api/v1/x402/nothing-like-it`, post({})))).toEqual([
      404,
      'listing_not_found',
    ]);
    const free = await openShop(seller, () => ({ free: true }), { pricing_amount: 0 });
    try {
      expect(await reasonOf(await fetch(urlOf(free), post({})))).toEqual([400, 'listing_is_free']);
    } finally {
      await free.close();
    }
    const signedRead = await fetch(urlOf(shop), { headers: { 'payment-signature': 'e30=' } });
    expect([signedRead.status, (await signedRead.json()) as object]).toMatchObject([
      400,
      { error: { details: { fields: [{ field: 'PAYMENT-SIGNATURE' }] } } },
    ]);
  });
});
