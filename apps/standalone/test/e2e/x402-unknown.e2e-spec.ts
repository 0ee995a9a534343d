import { job } from '@market/sdk/seller';
import { eventually, startMarketplace, withClient, type RunningMarketplace } from '@market/testing';
import axios from 'axios';
import { wrapAxiosWithPayment, x402Client as axiosClient } from '@x402/axios';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { EventEmitter, once } from 'node:events';
import type { Address } from 'viem';
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';
import { startEvmHarness, type EvmHarness } from '../../../payments-ledger/test/support/evm-harness.js';
import {
  serveFacilitatorOf,
  type Fault,
  type RemoteFacilitator,
} from '../../../payments-ledger/test/support/remote-facilitator.js';
import { signed } from '../../../payments-ledger/test/support/signed-payload.js';
import { expectBooksInOrder } from '../support/books.js';
import { jsonPost, mppClient, payingFetch } from '../support/stock-client.js';
import { openShop, reply, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

const CHAIN_ID = 84_532;
/** The address at which stock clients expect USDC of Base Sepolia. */
const USDC: Address = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
const AMOUNT = 250_000n;

interface Answered {
  status: number;
  header: (name: string) => string | null;
  body: { success: boolean; data: Record<string, unknown> } & Record<string, unknown>;
}
/** Sends one call with an unmodified client, which signs whenever it is asked to. */
type Client = (
  account: PrivateKeyAccount,
  url: string,
  body: object,
  headers?: Record<string, string>,
) => Promise<Answered>;

const through =
  (client: (account: PrivateKeyAccount) => typeof fetch): Client =>
  async (account, url, body, headers) => {
    const answer = await client(account)(url, jsonPost(body, headers));
    const header = (name: string): string | null => answer.headers.get(name);
    return { status: answer.status, header, body: (await answer.json()) as Answered['body'] };
  };
const withFetch = through(payingFetch);
/** In the Machine Payments Protocol. */
const withMppx = through((account) => mppClient(account).fetch as typeof fetch);
const withAxios: Client = async (account, url, body, headers) => {
  const client = new axiosClient().register('eip155:*', new ExactEvmScheme(account) as never);
  const pay = wrapAxiosWithPayment(axios.create(), client);
  const answer = await pay.post<Answered['body']>(url, body, {
    headers: { 'content-type': 'application/json', ...headers },
    validateStatus: (status) => status !== 402,
  });
  const header = (name: string): string | null =>
    (answer.headers as Record<string, string>)[name.toLowerCase()] ?? null;
  return { status: answer.status, header, body: answer.data };
};

/** A facilitator that moves the money and does not say so. Clients of others act on 402 and sign anew. */
inEachMode('a settlement whose outcome is unknown', ({ mode }) => {
  let chain: EvmHarness;
  let facilitator: RemoteFacilitator;

  beforeAll(async () => {
    chain = await startEvmHarness(CHAIN_ID);
    await chain.place('SignedToken', USDC);
    facilitator = await serveFacilitatorOf(chain);
  }, 240_000);
  afterEach(() => Object.assign(facilitator, { fault: null, times: Infinity }));
  afterAll(async () => {
    facilitator?.stop();
    await chain?.stop();
  });

  describe.each([
    ['whose RPC server is named', true],
    ['whose RPC server is not named', false],
  ])('on a chain %s', (_named, isNamed) => {
    let marketplace: RunningMarketplace;
    let seller: Agent;
    let shop: Shop;

    beforeAll(async () => {
      marketplace = await startMarketplace({
        mode,
        env: {
          PAYMENTS_LEDGER_X402_CHAINS: `eip155:${CHAIN_ID}${isNamed ? `=${chain.node.url}` : ''}`,
          PAYMENTS_LEDGER_FEE_ADDRESS: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
          PAYMENTS_LEDGER_X402_FACILITATOR_URL: facilitator.url,
          PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY: 'secret',
          PAYMENTS_LEDGER_X402_FACILITATOR_TIMEOUT_MS: '3000',
          PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 7).toString('base64'),
          PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '250',
        },
      });
      seller = await registerAgent(marketplace, { displayName: 'Seller' });
      shop = await openShop(seller, ({ body }) => ({ echo: body }), {
        pricing_amount: 0.25,
      });
    }, 240_000);
    afterAll(async () => {
      await expectBooksInOrder(marketplace, [shop]).finally(async () => {
        await shop?.close();
        await marketplace?.stop();
      });
    }, 120_000);

    const wallet = async (amount = 4n * AMOUNT): Promise<PrivateKeyAccount> => {
      const account = privateKeyToAccount(generatePrivateKey());
      await chain.send(USDC, 'mint', [account.address, amount]);
      return account;
    };
    /** Takes all that a wallet holds, as its owner may while a call is under way that it signed for. */
    const drain = async (account: PrivateKeyAccount): Promise<void> => {
      const held = await chain.balanceOf(USDC, account.address);
      const x402 = {
        ...{ scheme: 'exact', network: `eip155:${CHAIN_ID}`, asset: USDC, payTo: chain.payer, amount: String(held) },
        ...{ maxTimeoutSeconds: 60, extra: { name: 'USDC', version: '2' } },
      };
      await chain.handIn(USDC, await signed({ offer: { x402 } } as never, account));
    };
    const url = (path: 'x402' | 'gateway'): string => `${marketplace.baseUrl}/api/v1/${path}/${shop.listing.slug}`;
    const received = (body: object): number =>
      shop.requests.filter((request) => JSON.stringify(request.body) === JSON.stringify(body)).length;

    /** An answer that was not paid for is kept until its offer expires. */
    const forgetUnpaidAnswers = (): Promise<void> =>
      withClient(marketplace.databaseUrl, async (database) => {
        await database.query("UPDATE payments_ledger.payments SET expires_at = now() WHERE state = 'pending'");
        await eventually(
          async () => {
            const { rows } = await database.query(
              'SELECT id FROM gateway.gateway_requests WHERE billable AND settled_at IS NULL',
            );
            expect(rows).toEqual([]);
          },
          { withinMs: 30_000 },
        );
      });

    it('is paid once and answered once, however the facilitator fails', async () => {
      const ways: [string, Fault, number, Client][] = [
        ['hangs', 'hang-after', 1, withFetch],
        ['hangs', 'hang-after', 1, withAxios],
        ['hangs', 'hang-after', 1, withMppx],
        ['is reset', 'reset-after', 1, withFetch],
        ['answers 502', 'break-after', 1, withAxios],
        ['answers HTML', 'nonsense-after', 1, withFetch],
        ['names no transaction', 'nameless', 1, withAxios],
        ['says settlement_pending for six seconds', 'pending-for-6s', Infinity, withFetch],
        ['says settlement_pending for six seconds', 'pending-for-6s', Infinity, withAxios],
        ['says settlement_pending for six seconds', 'pending-for-6s', Infinity, withMppx],
        ['says transaction_failed first', 'fail-after', 1, withFetch],
        ['says transaction_failed first', 'fail-after', 1, withMppx],
        ['says insufficient_funds', 'deny-after', isNamed ? Infinity : 1, withAxios],
      ];
      const nameOf = (client: Client): string =>
        client === withFetch ? 'fetch' : client === withMppx ? 'mppx' : 'axios';
      const wallets: PrivateKeyAccount[] = [];
      while (wallets.length < ways.length) wallets.push(await wallet());
      const outcomeOf = async ([what, fault, times, client]: (typeof ways)[number], n: number): Promise<unknown> => {
        const account = wallets[n]!;
        const body = { what, by: nameOf(client) };
        facilitator.faultsOf.set(account.address, { fault, times });
        // On a slow machine a call may be under way for longer than its request waits, or a process be away: it is asked again.
        const answered = await eventually(
          async () => {
            const answer = await client(account, url('x402'), body);
            expect([202, 503]).not.toContain(answer.status);
            return answer;
          },
          { withinMs: 90_000 },
        );
        const { status, body: answer } = answered;
        const { billable, seller_response } = answer.data ?? answer;
        const left = await chain.balanceOf(USDC, account.address);
        return { ...body, status, billable, seller_response, left, received: received(body) };
      };
      expect(await Promise.all(ways.map(outcomeOf))).toEqual(
        ways.map(([what, , , client]) => {
          const body = { what, by: nameOf(client) };
          const paidOnce = { status: 200, billable: true, left: 3n * AMOUNT, received: 1 };
          return { ...body, ...paidOnce, seller_response: { echo: body } };
        }),
      );
    }, 180_000);

    it('asks for no second signature where the facilitator goes on saying insufficient_funds of what it moved', async () => {
      const account = await wallet();
      Object.assign(facilitator, { fault: 'deny-after' });
      for (let n = 0; n < 2; n += 1) {
        const { status } = await withFetch(account, url('x402'), { denied: true });
        expect(status).toBe(isNamed ? 200 : 202);
      }
      expect(await chain.balanceOf(USDC, account.address)).toBe((isNamed ? 2n : 3n) * AMOUNT);
      if (isNamed) return;
      // It says now that the signature was used, so the call is paid.
      facilitator.fault = null;
      await eventually(async () => expect((await withFetch(account, url('x402'), { denied: true })).status).toBe(200), {
        withinMs: 60_000,
      });
      expect(await chain.balanceOf(USDC, account.address)).toBe(3n * AMOUNT);
    });

    it('takes a new signature under the same key after a refused settlement', async () => {
      const account = await wallet();
      // Its first answer stays unpaid, so this shop is not among those that were paid for all that they delivered.
      let isDrained = false;
      const unlucky = await openShop(
        seller,
        async ({ body }) => {
          if (!isDrained) await drain(account);
          isDrained = true;
          return { echo: body };
        },
        { pricing_amount: 0.25 },
      );
      const address = `${marketplace.baseUrl}/api/v1/x402/${unlucky.listing.slug}`;
      const key = { 'idempotency-key': `refused-${isNamed}` };
      const body = { refused: true };
      const first = await withAxios(account, address, body, key).catch((error: unknown) => error);
      // Where no chain can be asked, the same signature is handed in again, because its wallet may be filled again.
      expect(first).toMatchObject(isNamed ? { response: { status: 402 } } : { status: 202 });
      await chain.send(USDC, 'mint', [account.address, AMOUNT]);
      await eventually(
        async () => {
          const second = await withAxios(account, address, body, key);
          expect([second.status, second.body.data]).toMatchObject([
            200,
            { billable: true, seller_response: { echo: body } },
          ]);
        },
        { withinMs: 60_000 },
      );
      expect(await chain.balanceOf(USDC, account.address)).toBe(0n);
      expect(unlucky.requests).toHaveLength(isNamed ? 2 : 1);
      await forgetUnpaidAnswers();
      await unlucky.close();
    });

    (isNamed ? it : it.skip)(
      'relays nothing of a stream, and shows no job, whose signature cannot be settled, and charges nothing',
      async () => {
        const account = await wallet();
        const hungUp = new EventEmitter();
        const tellsOf = once(hungUp, 'stream');
        let go: (() => void) | undefined;
        const unlucky = await openShop(
          seller,
          ({ body, signal }) => {
            if ('job' in (body as object)) return job(() => new Promise((done) => (go = () => done({ done: true }))));
            signal.addEventListener('abort', () => hungUp.emit('stream'));
            return words(signal);
          },
          { pricing_amount: 0.25, formats: ['json', 'sse'], delivery_type: 'webhook' },
        );
        async function* words(signal: AbortSignal): AsyncGenerator<string> {
          await drain(account);
          yield 'the first word';
          await once(signal, 'abort');
        }
        const address = `${marketplace.baseUrl}/api/v1/x402/${unlucky.listing.slug}`;
        const refused = await withFetch(account, address, { stream: 1 }, { accept: 'text/event-stream' });
        expect([refused.status, JSON.stringify(refused.body)]).toEqual([
          402,
          expect.not.stringContaining('first word'),
        ]);
        await tellsOf;

        await chain.send(USDC, 'mint', [account.address, AMOUNT]);
        // After a refused settlement a wallet pays before its seller is called, so another one buys the job.
        const other = await wallet();
        const working = await withFetch(other, address, { job: 1 });
        expect([working.status, working.body.data]).toMatchObject([202, { status: 'working' }]);
        await drain(other);
        const calls = unlucky.requests.length;
        go!();
        await eventually(async () => {
          const asked = await withFetch(other, address, { job: 1 }).catch(() => null);
          expect([asked?.status, JSON.stringify(asked?.body)]).toEqual([402, expect.not.stringContaining('"done"')]);
        });
        expect(unlucky.requests).toHaveLength(calls);
        await forgetUnpaidAnswers();
        await unlucky.close();
      },
      60_000,
    );

    (isNamed ? it : it.skip)(
      'owes a wallet without a key back at once what arrived and was not delivered, and then takes its next signature',
      async () => {
        const account = await wallet();
        let [fails, drains] = [false, true];
        const shaky = await openShop(
          seller,
          async ({ body }) => {
            if (drains) await drain(account);
            drains = false;
            return fails ? reply(503, {}) : { echo: body };
          },
          { pricing_amount: 0.25 },
        );
        const address = `${marketplace.baseUrl}/api/v1/x402/${shaky.listing.slug}`;
        // After a refused settlement the next call of this wallet is paid before its seller is called.
        await withAxios(account, address, { n: 1 }).catch(() => null);
        await chain.send(USDC, 'mint', [account.address, 4n * AMOUNT]);
        fails = true;
        const failed = await withFetch(account, address, { n: 2 });
        const undelivered = {
          error: { reason: 'seller_error' },
          recovery: { next_action: 'request_new_payment_requirements' },
        };
        expect([failed.status, failed.body.data]).toMatchObject([
          200,
          { billable: false, seller_status_code: 503, ...undelivered },
        ]);
        expect(await chain.balanceOf(USDC, account.address)).toBe(3n * AMOUNT);
        const owed = (await seller.market.refunds.list({ role: 'seller' })).data.filter(
          ({ listing }) => listing.id === shaky.listing.id,
        );
        expect(owed).toMatchObject([{ status: 'refund_due', reason: 'not_delivered', amount: { usd: 0.25 } }]);
        fails = false;
        const next = await withFetch(account, address, { n: 2 });
        expect([next.status, next.body.data]).toMatchObject([
          200,
          { billable: true, seller_response: { echo: { n: 2 } } },
        ]);
        expect(await chain.balanceOf(USDC, account.address)).toBe(2n * AMOUNT);
        await forgetUnpaidAnswers();
        await shaky.close();
      },
    );

    it('asks for no second signature, with a key and without, and answers the call once it is settled', async () => {
      const account = await wallet();
      const buyer = await registerAgent(marketplace);
      const [body, keyed, byMpp] = [{ n: 1 }, { n: 2 }, { n: 3 }];
      const key = { authorization: buyer.registration.authorization_header };
      Object.assign(facilitator, { fault: 'break-before' });
      const calls = () =>
        Promise.all([
          withFetch(account, url('x402'), body),
          withFetch(account, url('x402'), body),
          withAxios(account, url('gateway'), keyed, key),
          withMppx(account, url('gateway'), byMpp, key),
        ]);
      for (let n = 0; n < 2; n += 1)
        for (const { status, header, body: answer } of await calls()) {
          expect([status, header('retry-after'), header('x-market-payment-pending')]).toEqual([
            202,
            expect.stringMatching(/^\d+$/),
            expect.stringMatching(/^(settlement_unknown|call_in_progress); sign-again=\?0$/),
          ]);
          expect(answer.data).toMatchObject({
            code: 'PAYMENT_PENDING',
            message: expect.stringMatching(/Sign (and pay )?nothing again/) as string,
            recovery: { next_action: 'retry_same_request', sign_again: false },
          });
        }
      facilitator.fault = null;
      // The money moves while nobody waits; whoever signs for the call again gets the answer that it paid for.
      await eventually(async () => expect(await chain.balanceOf(USDC, account.address)).toBe(AMOUNT), {
        withinMs: 60_000,
      });
      for (const answer of [
        await withFetch(account, url('x402'), body),
        await withAxios(account, url('gateway'), keyed, key),
        await withMppx(account, url('gateway'), byMpp, key),
      ])
        expect([answer.status, answer.body.data]).toMatchObject([200, { billable: true }]);
      expect(await chain.balanceOf(USDC, account.address)).toBe(AMOUNT);
      expect([received(body), received(keyed), received(byMpp)]).toEqual([1, 1, 1]);
      expect((await withFetch(account, url('x402'), body)).status).toBe(200);
      expect([await chain.balanceOf(USDC, account.address), received(body)]).toEqual([0n, 2]);
    });
  });
});
