import { sandboxPayer, type HttpAnswer, type LedgerEntry, type Page } from '@market/sdk';
import { withClient } from '@market/testing';
import { calculateJwkThumbprint, createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose';
import { randomBytes } from 'node:crypto';
import { expectBooksInOrder, violationsOf } from '../support/books.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Converts cents with up to four decimals to integer micros, because sums of floating-point numbers would not be exact.
 */
const micros = (cents: number): bigint => BigInt(Math.round(cents * 10_000));
const sum = (amounts: bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n);

inEachMode('the books', (harness) => {
  let seller: Agent;
  let buyer: Agent;
  let outsider: Agent;
  let shops: Shop[];
  const PRICES = [0.25, 0.333333, 1.000001];
  const CALLS = 4;

  beforeAll(async () => {
    [seller, buyer, outsider] = await Promise.all([
      registerAgent(harness, { displayName: 'Seller' }),
      registerAgent(harness, { displayName: 'Buyer' }),
      registerAgent(harness),
    ]);
    shops = await Promise.all(
      PRICES.map((price) => openShop(seller, ({ body }) => ({ echo: body }), { pricing_amount: price })),
    );
    for (const shop of shops) {
      for (let n = 0; n < CALLS; n += 1)
        await buyer.market.call(shop.listing, { n }, { pay: sandboxPayer(buyer.market), maxPriceUsd: 2 });
    }
  });
  afterAll(async () => {
    await expectBooksInOrder(harness, shops);
    await Promise.all(shops.map((shop) => shop.close()));
  });

  it.each<[found: string, done: string]>([
    ['does not balance', "UPDATE postings SET amount_micros = amount_micros + 1 WHERE direction = 'credit'"],
    ['came from nowhere', 'UPDATE accounts SET balance_micros = balance_micros + 1'],
    ['a link of the chain', 'UPDATE journal_transactions SET digest = sha256(digest)'],
    ['a link of the chain', 'UPDATE journal_head SET link = sha256(link)'],
    ['a gap in the journal', 'DELETE FROM journal_transactions WHERE sequence = 1'],
    ['a charge without a completed payment', 'DELETE FROM journal_transactions WHERE payment_id = $1'],
    ['not what was paid and not charged', 'UPDATE payments SET received_base_units = 2 * received_base_units'],
    [
      'a refund that is not in the journal',
      `INSERT INTO refunds (id, payment_id, reason, owed_by, buyer_id, seller_id, amount_micros, network, due_since)
       SELECT id, id, 'overpaid', 'operator', buyer_id, seller_id, 1, network, now() FROM payments WHERE id = $1`,
    ],
    ['a transfer that paid twice', "UPDATE payments SET transaction_hash = 'one' WHERE purpose = 'call'"],
    ['whose answer is not kept', 'UPDATE gateway.gateway_requests SET result_json = NULL WHERE payment_id = $1'],
    ['answer that is not charged', "UPDATE payments SET state = 'verified', completed_at = NULL WHERE id = $1"],
    ['does not show as settled', 'UPDATE gateway.gateway_requests SET settled_at = NULL WHERE payment_id = $1'],
    ['was not sent', 'UPDATE outbox SET published_at = NULL'],
    ['has not heard of exactly once', 'DELETE FROM reputation.call_facts'],
    ['a lock that someone still holds', 'SELECT pg_advisory_xact_lock(1, 2)'],
  ])('are checked for what nobody may do: %s (%s)', async (found, done) => {
    await withClient(harness.databaseUrl, async (client) => {
      const { rows } = await client.query<{ id: string }>(
        "SELECT id FROM payments_ledger.payments WHERE buyer_id = $1 AND state = 'completed' LIMIT 1",
        [buyer.id],
      );
      await client.query('BEGIN');
      try {
        // No trigger keeps the owner of the server from it.
        await client.query('SET LOCAL session_replication_role = replica; SET LOCAL search_path = payments_ledger');
        await client.query(done, done.includes('$1') ? [rows[0]!.id] : []);
        expect(Object.keys(await violationsOf(client)).join()).toContain(found);
      } finally {
        await client.query('ROLLBACK');
      }
    });
  });

  describe('receipts', () => {
    it('are one for each side of each charged call, with the same numbers, to the micro [spec: GET /receipts, receipt]', async () => {
      const [bought, sold] = await Promise.all([
        buyer.market.receipts.list({ role: 'buyer', limit: 50 }),
        seller.market.receipts.list({ role: 'seller', limit: 50 }),
      ]);
      expect(bought.pagination).toEqual({ page: 1, limit: 50, total: 12, totalPages: 1 });
      expect(sold.pagination.total).toBe(12);
      const shared = ({ id: _id, recipient_type: _type, ...rest }: (typeof bought.data)[number]) => rest;
      expect(bought.data.map(shared)).toEqual(sold.data.map(shared));
      for (const receipt of bought.data) {
        const shop = shops.find(({ listing }) => listing.id === receipt.listing.id)!;
        const gross = BigInt(Math.round(shop.listing.pricing_amount * 1_000_000));
        const fee = (gross * 500n) / 10_000n;
        expect(
          [receipt.gross_amount, receipt.fee_amount, receipt.net_amount].map((usd) =>
            BigInt(Math.round(usd * 1_000_000)),
          ),
        ).toEqual([gross, fee, gross - fee]);
        expect(receipt).toMatchObject({
          id: expect.stringMatching(UUID),
          payment_id: expect.stringMatching(UUID),
          currency: 'USD',
          paid: {
            asset: 'USDC',
            amount: String(shop.listing.pricing_amount),
            amount_base_units: String(gross),
          },
          created_at: expect.stringMatching(/^\d{4}-.*Z$/),
          recipient_type: 'buyer',
          fee_rate: 0.05,
          transaction_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
          listing: { id: shop.listing.id, name: shop.listing.name, slug: shop.listing.slug },
        });
      }
    });

    it('name both parties in full, to them alone [spec: GET /receipts/{receiptId}, receipt.detail-view]', async () => {
      const { data } = await buyer.market.receipts.list({ role: 'buyer', limit: 1 });
      const detail = await buyer.market.receipts.get(data[0]!);
      expect(detail).toMatchObject({
        ...data[0],
        relay_request_id: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        payer: { id: buyer.id, display_name: 'Buyer', avatar_url: null },
        seller: { id: seller.id, display_name: 'Seller', avatar_url: null },
      });
      for (const stranger of [outsider, seller])
        await expect(stranger.market.receipts.get(data[0]!)).rejects.toMatchObject({ status: 404 });
      await expect(buyer.market.receipts.get('not-a-uuid')).rejects.toMatchObject({ status: 404 });
      for (const path of ['/receipts', `/receipts/${data[0]!.id}`])
        expect((await stranger(harness).send('GET', path)).status).toBe(401);
      expect((await outsider.market.receipts.list()).data).toEqual([]);
    });
  });

  describe('proofs of receipts', () => {
    const keys = async () => (await (await fetch(`${harness.baseUrl}/.well-known/jwks.json`)).json()) as JSONWebKeySet;
    /** Returns the JWS with one claim, or one byte of its header or signature, changed. */
    const forged = (jws: string, change: (parts: [string, string, string]) => [string, string, string]): string =>
      change(jws.split('.') as [string, string, string]).join('.');

    it('are checked offline with the published keys, and hold what the receipt says', async () => {
      const [receipt] = (await seller.market.receipts.list({ role: 'seller', limit: 1 })).data;
      const { jws, claims } = await seller.market.receipts.proof(receipt!);
      const { payload, protectedHeader } = await jwtVerify(jws, createLocalJWKSet(await keys()), {
        typ: 'receipt+jwt',
        algorithms: ['EdDSA'],
      });
      expect(payload).toEqual(claims);
      expect(protectedHeader.kid).toBe(await calculateJwkThumbprint((await keys()).keys[0]!));
      const { id: receipt_id, created_at, ...shown } = receipt!;
      const detail = await seller.market.receipts.get(receipt!);
      expect(payload).toMatchObject({
        iss: expect.stringMatching(/^http/),
        iat: Math.floor(Date.parse(created_at) / 1000),
        receipt_id,
        ...shown,
        buyer_id: buyer.id,
        seller_id: seller.id,
        relay_request_id: detail.relay_request_id,
      });
      const request = await seller.market.gatewayRequests.get(payload.gateway_request_id as string);
      expect(payload).toMatchObject({
        request_digest: request.request_digest,
        response_digest: request.response_digest,
        seller_status_code: 200,
      });
      expect((await seller.market.receipts.proof(receipt!)).jws).toBe(jws);
    });

    it('break when any claim is changed, or header or signature', async () => {
      const [receipt] = (await buyer.market.receipts.list({ role: 'buyer', limit: 1 })).data;
      const { jws, claims } = await buyer.market.receipts.proof(receipt!);
      const keySet = createLocalJWKSet(await keys());
      const others = Object.entries(claims).map(([claim, value]) =>
        forged(jws, ([header, , signature]) => [
          header,
          Buffer.from(JSON.stringify({ ...claims, [claim]: typeof value === 'number' ? value + 1 : 'other' })).toString(
            'base64url',
          ),
          signature,
        ]),
      );
      others.push(
        forged(jws, ([, body, signature]) => [Buffer.from('{"alg":"none"}').toString('base64url'), body, signature]),
      );
      others.push(forged(jws, ([header, body]) => [header, body, '']));
      others.push(
        forged(jws, ([header, body, signature]) => [
          header,
          body,
          `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
        ]),
      );
      expect(others.length).toBeGreaterThan(20);
      for (const other of others) await expect(jwtVerify(other, keySet)).rejects.toThrow();
    });

    it('are given to the side they belong to alone', async () => {
      const [receipt] = (await buyer.market.receipts.list({ role: 'buyer', limit: 1 })).data;
      for (const other of [seller, outsider])
        await expect(other.market.receipts.proof(receipt!)).rejects.toMatchObject({ status: 404 });
      expect((await stranger(harness).send('GET', `/receipts/${receipt!.id}/proof`)).status).toBe(401);
      const { headers } = await fetch(`${harness.baseUrl}/.well-known/jwks.json`);
      expect(headers.get('cache-control')).toBe('public, max-age=300');
    });
  });

  describe('ledger', () => {
    const everything = async (agent: Agent): Promise<LedgerEntry[]> =>
      (await agent.market.ledger.list({ limit: 100 })).data;

    it('adds up on both sides: what the buyer paid is what the seller earned and the marketplace took [spec: GET /ledger]', async () => {
      const [paid, earned] = await Promise.all([everything(buyer), everything(seller)]);
      const total = (entries: LedgerEntry[], type: string): bigint =>
        sum(entries.filter((entry) => entry.type === type).map((entry) => micros(entry.amount_cents)));
      const gross = sum(PRICES.map((price) => BigInt(Math.round(price * 1_000_000)) * BigInt(CALLS)));
      const fees = sum(
        PRICES.map((price) => ((BigInt(Math.round(price * 1_000_000)) * 500n) / 10_000n) * BigInt(CALLS)),
      );
      expect(total(paid, 'direct_payment')).toBe(gross);
      expect(total(earned, 'seller_credit')).toBe(gross);
      expect(total(earned, 'marketplace_fee')).toBe(fees);
      expect(paid.every(({ direction, type }) => direction === 'debit' && type === 'direct_payment')).toBe(true);
      const newest = earned[0]!;
      expect(micros(newest.balance_after_cents)).toBe(gross - fees);
    });

    it('carries the balance from entry to entry', async () => {
      const entries = (await everything(seller)).reverse();
      let balance = 0n;
      for (const entry of entries) {
        balance += entry.direction === 'credit' ? micros(entry.amount_cents) : -micros(entry.amount_cents);
        expect(micros(entry.balance_after_cents)).toBe(balance);
      }
    });

    it('points to payment, call and receipt', async () => {
      const [entry] = await everything(buyer);
      expect(entry).toMatchObject({
        currency: 'USD',
        listing: { id: expect.any(String) },
        transaction_hash: expect.any(String),
      });
      const receipt = await buyer.market.receipts.get(entry!.reference.receipt_id!);
      expect(receipt.payment_id).toBe(entry!.reference.payment_id);
      const request = await buyer.market.gatewayRequests.get(entry!.reference.gateway_request_id!);
      expect(request).toMatchObject({
        status: 'succeeded',
        billable: true,
        payment: { relay_request_id: receipt.relay_request_id },
      });
    });

    it('is filtered, paged, and written as CSV', async () => {
      const of = (query: object): Promise<Page<LedgerEntry>> => seller.market.ledger.list({ limit: 100, ...query });
      expect((await of({ type: 'seller_credit' })).pagination.total).toBe(12);
      expect((await of({ direction: 'debit' })).data.every(({ type }) => type === 'marketplace_fee')).toBe(true);
      expect((await of({ listing_id: shops[0]!.listing.id })).pagination.total).toBe(2 * CALLS);
      expect((await of({ from: '2999-01-01T00:00:00Z' })).data).toEqual([]);
      expect((await of({ to: '2999-01-01T00:00:00Z', page: 2, limit: 20 })).pagination).toEqual({
        page: 2,
        limit: 20,
        total: 24,
        totalPages: 2,
      });
      const csv = await seller.market.send('GET', '/ledger', { query: { format: 'csv', limit: 100 } });
      expect(csv.headers.get('content-type')).toContain('text/csv');
      expect(csv.text.trim().split('\r\n').length).toBe(25);
      for (const query of [
        'type=refund',
        'direction=both',
        'listing_id=x',
        'from=yesterday',
        'format=xml',
        'limit=101',
        'page=0',
      ])
        expect((await seller.market.send('GET', `/ledger?${query}`)).status).toBe(400);
      expect((await stranger(harness).send('GET', '/ledger')).status).toBe(401);
    });

    it('lets no listing write formulas into the CSV of its buyers', async () => {
      const trap = await openShop(seller, () => ({ ok: true }), { name: '=HYPERLINK("http://evil","pay, here")' });
      await buyer.market.call(trap.listing, {}, { pay: sandboxPayer(buyer.market) });
      const csv = await buyer.market.send('GET', '/ledger', { query: { format: 'csv', listing_id: trap.listing.id } });
      expect(csv.text).toContain(`,"'=HYPERLINK(""http://evil"",""pay, here"")",`);
      await trap.close();
    });

    it('is empty for whoever has no part in it', async () => {
      expect(await everything(outsider)).toEqual([]);
    });
  });

  describe('a reading while entries arrive', () => {
    it.each(['ledger', 'receipts', 'gatewayRequests'] as const)(
      'of %s shows nobody twice and misses nothing older [spec: GET /ledger, GET /receipts, GET /gateway-requests]',
      async (book) => {
        const reader = await registerAgent(harness);
        const path = book === 'gatewayRequests' ? '/gateway-requests' : `/${book}`;
        const buy = () =>
          reader.market.call(
            shops[0]!.listing,
            { at: randomBytes(8).toString('hex') },
            { pay: sandboxPayer(reader.market) },
          );
        for (let n = 0; n < 5; n += 1) await buy();
        const before = (await reader.market[book].list({ limit: 50 })).data.map(({ id }) => id);

        const read: string[] = [];
        for await (const { id } of reader.market[book].all({ limit: 2 })) {
          read.push(id);
          if (read.length % 2 === 1) await buy();
        }
        expect(read).toEqual(before);

        const linked: string[] = [];
        for (let next: string | undefined = `${path}?limit=2${book === 'ledger' ? '&format=csv' : ''}`; next;) {
          const answer: HttpAnswer = await reader.market.send('GET', next);
          linked.push(
            ...(book === 'ledger'
              ? answer.text
                  .trim()
                  .split('\r\n')
                  .slice(1)
                  .map((line) => line.split(',')[0]!)
              : (answer.json as Page<{ id: string }>).data.map(({ id }) => id)),
          );
          next = /<[^>]*\/api\/v1([^>]*)>; rel="next"/.exec(answer.headers.get('link')!)?.[1];
          if (linked.length === 2) await buy();
        }
        const [newest, ...older] = (await reader.market[book].list({ limit: 50 })).data.map(({ id }) => id);
        expect(linked).toEqual(older);
        expect(linked).not.toContain(newest);

        expect((await reader.market.send('GET', `${path}?cursor=x`)).status).toBe(400);
        expect((await reader.market[book].list({ cursor: older.at(-1)! })).data).toEqual([]);
      },
    );
  });
});
