import { listPaymentRoutes } from '@market/contracts/payments-ledger';
import { newRequestContext } from '@market/messaging';
import { eventually } from '@market/testing';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { payoutOf } from '../../../gateway/test/support/fake-wallets.js';
import { asAuthorized, newOrder } from '../support/ledger-harness.js';
import {
  facilitatorsInOrder,
  serveFacilitatorOf,
  type Asked,
  type RemoteFacilitator,
} from '../support/remote-facilitator.js';
import { signed } from '../support/signed-payload.js';
import { ON_CHAIN, startX402Ledger, type X402Ledger } from '../support/x402-ledger.js';

const NETWORK = 'eip155:31337';
const PRICE = 250_000n;
const OTHER_HASH = `0x${'ab'.repeat(32)}`;
const SOLANA_HASH = '5'.repeat(88);

const json = (response: ServerResponse, body: object, status = 200): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const failure = (errorReason: string, transaction = ''): object => ({ success: false, errorReason, transaction });
const success = (changes: object): object => ({ success: true, transaction: OTHER_HASH, network: NETWORK, ...changes });

type Behaviour = (asked: Asked) => unknown;
/** Moves the money first. */
const moving =
  (behave: (asked: Asked, transaction: string) => unknown): Behaviour =>
  async (asked) => {
    const settled = await asked.settle();
    behave(asked, settled.settled ? settled.transactionHash! : '');
  };

/** The facilitator that gets the signature first behaves like this once. Whether the second may get it. */
const AT_SETTLING: [string, Behaviour, boolean][] = [
  ['hangs after it moved the money', moving(() => undefined), false],
  ['resets the connection before it did anything', ({ request }) => request.socket.resetAndDestroy(), false],
  ['resets the connection after it moved the money', moving(({ request }) => request.socket.resetAndDestroy()), false],
  ['answers 502', ({ response }) => response.writeHead(502).end(), false],
  ['answers HTML', moving(({ response }) => response.end('<html>')), false],
  ['answers broken JSON', moving(({ response }) => response.end('{"success": tr')), false],
  ['names no transaction', moving(({ response }) => json(response, success({ transaction: '' }))), false],
  ['says pending', ({ response }) => json(response, failure('settlement_pending')), false],
  [
    'says failed, and then that the nonce was used',
    moving(({ response }) => json(response, failure('transaction_failed'))),
    false,
  ],
  [
    'says insufficient_funds of what it moved',
    moving(({ response }) => json(response, failure('insufficient_funds'))),
    false,
  ],
  [
    'says insufficient_funds of what it moves a second later',
    async ({ response, settle }) => {
      json(response, failure('insufficient_funds'));
      await delay(1_000);
      await settle().catch(() => undefined);
    },
    false,
  ],
  [
    'says insufficient_funds of what it does not move',
    ({ response }) => json(response, failure('insufficient_funds')),
    false,
  ],
  [
    'fails with a transaction',
    moving(({ response }, hash) => json(response, failure('insufficient_funds', hash))),
    false,
  ],
  ['names a transaction that is none', ({ response }) => json(response, success({})), false],
  ['names a transaction of Solana', ({ response }) => json(response, success({ transaction: SOLANA_HASH })), false],
  ['names another network', ({ response }) => json(response, success({ network: 'eip155:1' })), false],
  ['names another payer', ({ response }) => json(response, success({ payer: `0x${'9'.repeat(40)}` })), false],
  ['does not end its answer', moving(({ response }) => response.writeHead(200).write('{"success":')), false],
  [
    'answers with a megabyte',
    moving(({ response }) => json(response, success({ more: 'x'.repeat(1_000_000) }))),
    false,
  ],
  [
    'redirects to where nobody listens',
    ({ response }) => response.writeHead(307, { location: 'http://127.0.0.1:9/settle' }).end(),
    false,
  ],
  ['answers 429 after it moved the money', moving(({ response }) => response.writeHead(429).end()), false],
  ['answers 429', ({ response }) => response.writeHead(429, { 'retry-after': '1' }).end('slow down'), true],
  ['answers 401', ({ response }) => response.writeHead(401).end(), true],
  ['does not settle the network after all', ({ response }) => json(response, failure('unsupported_network')), true],
];

const AT_VERIFYING: [string, Behaviour][] = [
  ['hangs', () => undefined],
  ['answers 500', ({ response }) => response.writeHead(500).end()],
  ['answers HTML', ({ response }) => response.end('<html>')],
  [
    'does not know the network after all',
    ({ response }) => json(response, { isValid: false, invalidReason: 'invalid_network' }),
  ],
];

describe('two facilitators of which the first', () => {
  let harness: X402Ledger;
  let first: RemoteFacilitator;
  let second: RemoteFacilitator;
  beforeAll(async () => {
    harness = await startX402Ledger(async (facilitator, chain) => {
      first = facilitator;
      second = await serveFacilitatorOf(chain);
      return { ...facilitatorsInOrder(first, second), PAYMENTS_LEDGER_SAMPLE_INTERVAL_MS: '100' };
    });
  }, 120_000);
  afterEach(() => Object.assign(first, { behaviour: null }));
  afterAll(async () => {
    second?.stop();
    await harness?.stop();
  });

  const striking = (operation: Asked['operation'], behave: Behaviour): void => {
    let isStruck = false;
    first.behaviour = (asked) => {
      if (isStruck || asked.operation !== operation) return false;
      isStruck = true;
      void behave(asked);
      return true;
    };
  };
  const handIns = ({ handIns: each }: RemoteFacilitator): number => [...each.values()].reduce((sum, n) => sum + n, 0);
  /** A call by a wallet of its own, which holds twice the price. */
  const authorized = async () => {
    const payer = privateKeyToAccount(generatePrivateKey());
    await harness.chain.send(harness.usdc, 'mint', [payer.address, 2n * PRICE]);
    const order = newOrder();
    const offered = await harness.ledger.quote(order, ON_CHAIN);
    const authorization = await signed(offered, payer);
    const claim = asAuthorized(await harness.ledger.authorize(order, offered, { authorization }));
    // As if the first had verified it, which may be set aside since the test before.
    await harness.ledger.db.inspect(
      'UPDATE payments_ledger.authorizations SET facilitator = $2 WHERE payment_id = $1',
      [claim.paymentId, new URL(first.url).host],
    );
    return { order, payer, claim };
  };
  const expectPaidOnce = async ({ order, payer, claim }: Awaited<ReturnType<typeof authorized>>): Promise<void> => {
    await harness.ledger
      .settle(claim)
      .catch((error: unknown) => expect(error).toMatchObject({ reason: 'settlement_unknown' }));
    await eventually(async () => expect(await harness.ledger.stateOf(claim.paymentId)).toBe('completed'), {
      withinMs: 60_000,
    });
    expect([
      await harness.chain.balanceOf(harness.usdc, payer.address),
      await harness.chain.balanceOf(harness.usdc, payoutOf(order.listing.sellerId)),
    ]).toEqual([PRICE, PRICE]);
  };

  it.each(AT_SETTLING)(
    '%s: one transfer, and the other has the signature only if none was made',
    async (_what, behave, may) => {
      const call = await authorized();
      const earlier = handIns(second);
      striking('settle', behave);
      await expectPaidOnce(call);
      expect(handIns(second) - earlier).toBe(may ? 1 : 0);
    },
    90_000,
  );

  it.each(AT_VERIFYING)(
    '%s when it verifies: the other one does',
    async (_what, behave) => {
      striking('verify', behave);
      await expectPaidOnce(await authorized());
    },
    90_000,
  );

  it('says that it settles nothing, as the second does: no offer is made there, until one says otherwise', async () => {
    const closed = async (): Promise<string | null> => {
      const { routes } = await harness.ledger.edge.request(listPaymentRoutes, {}, newRequestContext());
      return routes.find(({ network }) => network === NETWORK)!.closed;
    };
    expect(await closed()).toBeNull();
    const lies = await startX402Ledger(async (facilitator) => {
      facilitator.behaviour = ({ operation, response }) => {
        if (operation === 'supported') json(response, { kinds: [] });
        return operation === 'supported';
      };
      return Promise.resolve({});
    });
    const { routes } = await lies.ledger.edge.request(listPaymentRoutes, {}, newRequestContext());
    expect(routes.find(({ network }) => network === NETWORK)!.closed).toContain('does not settle exact payments');
    expect((await lies.ledger.quote(newOrder())).offer.provider).toBe('sandbox');
    await lies.stop();
  }, 120_000);

  it('is not there any more: the second settles, and the books say so', async () => {
    const call = await authorized();
    const earlier = handIns(second);
    first.stop();
    await expectPaidOnce(call);
    expect(handIns(second) - earlier).toBe(1);
    const rows = await harness.ledger.db.inspect(
      'SELECT facilitator FROM payments_ledger.authorizations WHERE payment_id = $1',
      [call.claim.paymentId],
    );
    expect(rows).toEqual([{ facilitator: new URL(second.url).host }]);
  });
});
