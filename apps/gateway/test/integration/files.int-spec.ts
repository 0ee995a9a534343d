import { openContent, readContent } from '@market/contracts/gateway';
import { settlePayment } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { eventually } from '@market/testing';
import { createHash, randomBytes } from 'node:crypto';
import {
  as,
  BODY,
  expectOutcome,
  reasonOf,
  resultOf,
  startGateway,
  type GatewayHarness,
  type Shop,
} from '../support/gateway-harness.js';
import { storeProblems } from '../../src/contents/object-store.js';
import { startObjectServer, type ObjectServer } from '../support/object-server.js';
import { answer, held, type Behaviour } from '../support/test-seller.js';

const KIB = 1_024;
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const sends =
  (bytes: Buffer): Behaviour =>
  (_request, response) =>
    void response.writeHead(200, { 'content-type': 'image/png', 'content-length': bytes.length }).end(bytes);

/** Each crash is simulated by losing one message, after which the attempt does nothing more. */
describe.each(['PostgreSQL', 'a store of objects'])('a call that is answered with a file, in %s', (store) => {
  let harness: GatewayHarness;
  let objects: ObjectServer | undefined;
  beforeAll(async () => {
    objects = store === 'PostgreSQL' ? undefined : await startObjectServer();
    harness = await startGateway({
      replicas: 2,
      env: {
        GATEWAY_WAIT_FOR_RESULT_MS: '200',
        GATEWAY_PRUNE_INTERVAL_MS: '500',
        GATEWAY_STORED_BYTES_PER_ACCOUNT: String(4_000 * KIB),
        ...(objects && { GATEWAY_STORE_URL: objects.url }),
      },
    });
  });
  afterAll(async () => {
    await harness.stop();
    await objects?.stop();
  });

  const open = (behaviour: Behaviour, more: Record<string, unknown> = {}): Promise<Shop> =>
    harness.open({ formats: ['png'], ...more } as Parameters<GatewayHarness['open']>[0], behaviour);
  /** The file that a buyer gets. */
  const fileOf = async (buyer: string, requestId: string): Promise<Buffer> => {
    const opened = await harness.edge.request(openContent, { requestId }, as(buyer));
    if (!('content' in opened)) throw new Error('the answer is a stream');
    const { content } = opened;
    const pieces: Buffer[] = [];
    for (let offset = 0; offset < content.size; offset += pieces.at(-1)!.length) {
      const piece = await harness.edge.request(readContent, { contentId: content.id, offset }, as(buyer));
      pieces.push(Buffer.from(piece.base64, 'base64'));
    }
    return Buffer.concat(pieces);
  };
  const inChunks = ({ length }: Buffer) => ({ size: String(length), chunks: Math.ceil(length / (128 * KIB)) });
  const chunksOf = async ({ offering }: Shop): Promise<{ key: string; isObject: boolean }[]> =>
    harness.db.inspect(
      `SELECT content_id || '/' || starts_at AS key, sealed IS NULL AS "isObject" FROM gateway.content_chunks
       JOIN gateway.contents ON id = content_id WHERE seller_id = $1`,
      [offering.sellerId],
    );
  const storedOf = async ({ offering }: Shop): Promise<{ size: string; chunks: number }[]> =>
    harness.db.inspect(
      `SELECT c.size, (SELECT count(*)::int FROM gateway.content_chunks WHERE content_id = c.id) AS chunks
       FROM gateway.contents c WHERE c.seller_id = $1`,
      [offering.sellerId],
    );

  it('is settled after a crash between the stored file and its charge, by a retry that calls nobody', async () => {
    const file = randomBytes(700 * KIB + 1);
    const [buyer, shop] = [newId(), await open(sends(file))];
    const relayRequestId = await harness.buy(buyer, shop);
    const heal = harness.transport.lose(settlePayment, 'request');
    expectOutcome(await harness.call(buyer, shop, BODY, { relayRequestId }), 'pending');
    const [row] = (await harness.history(buyer)).items;
    expect(await reasonOf(harness.edge.request(openContent, { requestId: row!.id }, as(buyer)))).toBe(
      'content_not_found',
    );
    heal();
    const answered = await harness.answer(buyer, shop, BODY, { relayRequestId });
    const { request_id: id, seller_response } = resultOf(answered);
    expect(seller_response).toEqual({ content_type: 'image/png', size: file.length, sha256: sha256(file) });
    expect([shop.seller.requests.length, await harness.chargesOf(relayRequestId)]).toEqual([1, 1]);
    expect(sha256(await fileOf(buyer, id))).toBe(sha256(file));
    expect(await storedOf(shop)).toEqual([inChunks(file)]);
    expect(await reasonOf(harness.edge.request(openContent, { requestId: id }, as(newId())))).toBe('content_not_found');
  });

  it('keeps the file of the first stored result, and none of an attempt that lost', async () => {
    const [first, second] = [randomBytes(300 * KIB), randomBytes(300 * KIB)];
    const gates = [held(sends(first)), held(sends(first))];
    const buyer = newId();
    const shops = await Promise.all(gates.map(({ behaviour }) => open(behaviour)));
    const relayRequestIds = await Promise.all(shops.map((shop) => harness.buy(buyer, shop)));
    const call = (n: number) => harness.call(buyer, shops[n]!, BODY, { relayRequestId: relayRequestIds[n] });
    // Requests alternate between the processes, so each process has one of the calls.
    const firsts = Promise.all([call(0), call(1)]);
    const attempts = (): number[] => shops.map(({ seller }) => seller.requests.length);
    await eventually(() => expect(attempts()).toEqual([1, 1]), { withinMs: 10_000 });
    const heal = harness.cutLocks(0);
    shops.forEach(({ seller }) => seller.behave(sends(second)));
    const retries: Promise<unknown>[] = [];
    await eventually(
      () => {
        retries.push(Promise.allSettled([call(1), call(0)]));
        expect(attempts().sort()).toEqual([1, 2]);
      },
      { withinMs: 8_000, everyMs: 200 },
    );
    await Promise.all(retries);
    gates.forEach(({ release }) => release());
    await firsts;
    heal();
    for (const [n, shop] of shops.entries()) {
      const answered = await eventually(() =>
        harness.answer(buyer, shop, BODY, { relayRequestId: relayRequestIds[n] }),
      );
      const expected = attempts()[n] === 2 ? second : first;
      expect(sha256(await fileOf(buyer, resultOf(answered).request_id))).toBe(sha256(expected));
      expect(await storedOf(shop)).toEqual([inChunks(expected)]);
      expect(await harness.chargesOf(relayRequestIds[n]!)).toBe(1);
    }
  });

  it('leaves nothing of a file that was cut off, and is made again on the same payment', async () => {
    const file = randomBytes(600 * KIB);
    const [buyer, shop] = [
      newId(),
      await open((_request, response) => {
        response.writeHead(200, { 'content-type': 'image/png', 'content-length': 2 * file.length });
        response.write(file, () => response.destroy());
      }),
    ];
    const relayRequestId = await harness.buy(buyer, shop);
    expect(resultOf(await harness.answer(buyer, shop, BODY, { relayRequestId }))).toMatchObject({
      billable: false,
      error: { reason: 'protocol_error' },
    });
    expect([await storedOf(shop), await harness.chargesOf(relayRequestId)]).toEqual([[], 0]);
    shop.seller.behave(sends(file));
    expect(resultOf(await harness.answer(buyer, shop, BODY, { relayRequestId }))).toMatchObject({ billable: true });
    expect(await storedOf(shop)).toMatchObject([{ size: String(file.length) }]);
  });

  it('is refused before the seller is called while its parties have no room', async () => {
    const shop = await open(sends(randomBytes(4_000 * KIB)), { priceMicros: '0' });
    expect(resultOf(await harness.answer(newId(), shop, BODY, {}))).toMatchObject({ billable: true });
    expect(await reasonOf(harness.call(newId(), shop))).toBe('storage_full');
    expect(shop.seller.requests).toHaveLength(1);
    // Other listings are not concerned.
    const other = await harness.open({ sellerId: shop.offering.sellerId, priceMicros: '0' }, answer(200, '{}'));
    expect(resultOf(await harness.answer(newId(), other, BODY, {}))).toMatchObject({ billable: true });
  });

  it('has a store that is checked', async () => {
    if (!objects) return;
    expect(await storeProblems(objects.url)).toEqual([]);
    expect(await storeProblems(objects.url.replace('S3RVER:', 'nobody:'))).toEqual([
      expect.stringMatching(/cannot be used \(PUT was answered with 403\)$/),
    ]);
  });

  it('is forgotten with its file when its time is over, and what no call names, too', async () => {
    const [buyer, shop] = [newId(), await open(sends(randomBytes(KIB)))];
    const relayRequestId = await harness.buy(buyer, shop);
    const { request_id: id } = resultOf(await harness.answer(buyer, shop, BODY, { relayRequestId }));
    await harness.db.inspect(
      `INSERT INTO gateway.contents (id, call_id, buyer_id, seller_id, size, expires_at)
       SELECT gen_random_uuid(), call_id, buyer_id, seller_id, 1, now() FROM gateway.contents WHERE call_id = $1`,
      [id],
    );
    await eventually(async () => expect(await storedOf(shop)).toHaveLength(1));
    expect(await fileOf(buyer, id)).toHaveLength(KIB);
    const [stored] = await chunksOf(shop);
    expect([stored!.isObject, objects?.has(stored!.key) ?? false]).toEqual([
      objects !== undefined,
      objects !== undefined,
    ]);
    await harness.db.inspect('UPDATE gateway.contents SET expires_at = now() WHERE call_id = $1', [id]);
    await eventually(async () => expect(await storedOf(shop)).toEqual([]));
    expect(objects?.has(stored!.key) ?? false).toBe(false);
    expect(await reasonOf(harness.edge.request(openContent, { requestId: id }, as(buyer)))).toBe('result_not_kept');
    expect(await reasonOf(harness.call(buyer, shop, BODY, { relayRequestId }))).toBe('result_not_kept');
  });
});
