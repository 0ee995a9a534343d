import { countOf, TEST_SEED } from '@market/test-servers/threats';
import { eventually, startMarketplace, withClient, type ProcessName, type RunningMarketplace } from '@market/testing';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { x402Client, x402HTTPClient } from '@x402/fetch';
import fc from 'fast-check';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { expectBooksInOrder } from '../support/books.js';
import { callOnce, payFor, resultOf, withRelayId } from '../support/buyer.js';
import type { HttpAnswer } from '@market/sdk';
import { openShop, type Shop } from '../support/seller.js';
import { mppClient } from '../support/stock-client.js';
import { RetryingBuyer, type Purchase } from '../support/retrying-buyer.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { takeTheMachine } from '../support/whole-machine.js';

const BUYERS = 16;
const CROWDS = countOf('crowd');
const KILLS = countOf('kills');
const CRASHES = countOf('storing');
/** The number of purchases before a process is killed, and again after it has restarted. */
const BETWEEN_FAULTS = 12;
/** Between two purchases of a buyer, so that processes that start have some of the machine. */
const PAUSE_MS = 150;
// On a busy machine a seller may be late and would soon count as failing.
const SETTINGS = {
  PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '250',
  GATEWAY_RESUME_INTERVAL_MS: '250',
  GATEWAY_FAILING_AFTER: '1000',
};

/** The promises are 3 s, and 2 s for calls that were not in progress; this machine may be busy. */
const RECOVERY_TIMEOUT_MS = 15_000;
const SERVICE_TIMEOUT_MS = 10_000;

/** A paid call: with a key by its relay request id, or without one by a signature. */
interface PaidCall {
  /** Undefined if a signature pays. */
  relayRequestId?: string;
  ask(): Promise<{ status: number }>;
}

/** Holds the seller's answers while it is closed. */
class Gate {
  waiting = 0;
  private opened: Promise<void> | undefined;
  private letGo: () => void = () => undefined;

  close(): void {
    this.waiting = 0;
    this.opened = new Promise((resolve) => (this.letGo = resolve));
  }

  open(): void {
    this.opened = undefined;
    this.letGo();
  }

  async pass(): Promise<void> {
    if (!this.opened) return;
    this.waiting += 1;
    await this.opened;
  }
}

inEachMode('under pressure', ({ mode }) => {
  takeTheMachine();
  const gate = new Gate();
  let held = 0;
  let marketplace: RunningMarketplace;
  let shop: Shop;
  let seller: Agent;
  let agents: Agent[];

  beforeAll(async () => {
    marketplace = await startMarketplace({ mode, env: SETTINGS, replicas: { gateway: 2, 'payments-ledger': 2 } });
    seller = await registerAgent(marketplace, { displayName: 'Seller' });
    let turn = 0;
    // Answers take 0 to 40 ms, in a fixed order, so that a kill interrupts calls in every stage.
    shop = await openShop(seller, async ({ body }) => {
      await delay(((turn += 7) % 41) as number);
      await gate.pass();
      return { echo: body };
    });
    agents = await Promise.all(
      Array.from({ length: BUYERS }, (_, n) => registerAgent(marketplace, { displayName: `Buyer ${n}` })),
    );
  }, 240_000);

  afterAll(async () => {
    await shop?.close();
    await marketplace?.stop();
  }, 120_000);

  it(
    'a call is charged once and delivered once for 64 connections at once, over all replicas, and all get equal bytes',
    async () => {
      const meet = async (agent: Agent, body: object): Promise<void> => {
        const relayRequestId = await payFor(agent, shop.listing, body);
        // A busy machine may refuse one of them, which is sent again as it is told to.
        const answer = async (): Promise<HttpAnswer> => {
          for (;;) {
            const given = await callOnce(agent, shop.listing, body, withRelayId(relayRequestId));
            if (given.status !== 503) return given;
            await delay(Number(given.headers.get('retry-after')) * 1_000);
          }
        };
        const answers = await Promise.all(Array.from({ length: 64 }, answer));
        expect(answers.filter(({ status }) => status !== 200 && status !== 202)).toEqual([]);
        const done = answers.filter(({ status }) => status === 200);
        expect([...new Set(done.map(({ text }) => text))]).toHaveLength(1);
        const id = resultOf(done[0]!).request_id;
        // A failure shows the attempts.
        const attempts = shop.requests.map(({ call }) => call).filter(({ requestId }) => requestId === id);
        expect([shop.deliveries.timesCalled(id), attempts]).toEqual([1, attempts]);
      };
      for (let crowd = 0; crowd < CROWDS; crowd += BUYERS)
        await Promise.all(agents.slice(0, CROWDS - crowd).map((agent, n) => meet(agent, { crowd: crowd + n })));
      await expectBooksInOrder(marketplace, [shop]);
    },
    240_000 + CROWDS * 5_000,
  );

  (mode === 'standalone' ? it.skip : it)(
    'no process is ready that cannot reach the broker',
    async () => {
      const readiness = async (): Promise<unknown> => {
        const response = await fetch(`${marketplace.internalUrl('api-gateway')}/healthz/ready`);
        return [response.status, await response.json()];
      };
      expect(await readiness()).toEqual([200, { status: 'ok' }]);
      await marketplace.kill('nats');
      try {
        await eventually(
          async () =>
            expect(await readiness()).toEqual([503, { status: 'failing', failing: { bus: 'NATS cannot be reached' } }]),
          {
            withinMs: 30_000,
          },
        );
      } finally {
        await marketplace.restart('nats');
      }
      await eventually(async () => expect(await readiness()).toEqual([200, { status: 'ok' }]), { withinMs: 30_000 });
      // The other processes find the broker again in their own time.
      await eventually(
        async () => expect((await callOnce(agents[0]!, shop.listing, { again: true })).status).toBe(402),
        { withinMs: 30_000 },
      );
    },
    240_000,
  );

  it(
    'kill -9 of anything in the middle of paid calls leaves each of them charged once and delivered once',
    async () => {
      const buyers = agents.map((agent) => new RetryingBuyer(agent, shop.listing));
      const named: ProcessName[] =
        mode === 'standalone'
          ? ['standalone']
          : [
              'payments-ledger',
              'gateway',
              'api-gateway',
              'gateway#2',
              'identity',
              'catalog',
              'payments-ledger#2',
              'reputation',
              'nats',
              'postgres',
              'redis',
            ];
      // Each kill of the one process of standalone is one of all services.
      const kills = mode === 'standalone' ? Math.ceil(KILLS / 4) : KILLS;
      const victims = Array.from({ length: kills }, (_, n) => named[n % named.length]!);
      const finished = await sayingWhy(marketplace, () => trade(buyers, victims));

      // Every buyer repeats all its calls and gets the same bytes, without another request to the seller.
      const calls = shop.requests.length;
      await Promise.all(
        buyers.map(async (buyer, n) => {
          for (const purchase of finished.filter(({ body }) => (body as { buyer: number }).buyer === n))
            await buyer.ask(purchase);
        }),
      );
      expect(shop.requests.length).toBe(calls);
      for (const { delivered } of finished) expect(new Set(delivered).size).toBe(1);

      const statuses = new Set(buyers.flatMap((buyer) => [...buyer.statuses.keys()]));
      expect([...statuses].filter((status) => ![200, 202, 402, 503].includes(status))).toEqual([]);
      await expectBooksInOrder(marketplace, [shop], { withinMs: 90_000 });
      await withClient(marketplace.databaseUrl, async (client) => {
        const { rows } = await client.query<{ relay_request_id: string }>(
          "SELECT relay_request_id FROM payments_ledger.payments WHERE state = 'completed'",
        );
        expect(rows.map((row) => row.relay_request_id)).toEqual(
          expect.arrayContaining(finished.map((purchase) => purchase.relayRequestId)),
        );
      });
    },
    480_000 + KILLS * 60_000,
  );

  it(
    `a process that dies between the answer of its seller and its storing asks again under its id (${CRASHES} calls, seed ${TEST_SEED})`,
    async () => {
      const victims: ProcessName[] = mode === 'standalone' ? ['standalone'] : ['gateway', 'gateway#2'];
      const pauses = fc.sample(fc.integer({ min: 0, max: 12 }), { seed: TEST_SEED, numRuns: CRASHES });
      const before = shop.requests.length;
      let [interrupted, again] = [0, 0];
      for (let crash = 0; interrupted < CRASHES; crash += 1) {
        const { calls, answers } = await startPaidCalls();
        gate.open();
        await delay(pauses[crash]);
        await Promise.all(victims.map((victim) => marketplace.kill(victim)));
        await answers;
        await Promise.all(victims.map((victim) => marketplace.restart(victim)));
        await Promise.all(calls.map(delivered));
        interrupted += calls.length;
      }
      const ids = shop.requests.slice(before).map(({ call }) => call.requestId);
      again = ids.length - new Set(ids).size;
      // Nothing is proven by processes that were always quick enough.
      expect([new Set(ids).size, again > 0]).toEqual([interrupted, true]);
      await expectBooksInOrder(marketplace, [shop], { withinMs: 90_000 });
    },
    240_000 + CRASHES * 10_000,
  );

  (mode === 'distributed' ? it : it.skip)(
    'Redis that is emptied all the time forgets no Idempotency-Key and no call that was paid',
    async () => {
      const { hostname, port } = new URL(marketplace.redisUrl!);
      const redis = connect(Number(port), hostname).resume();
      const emptying = setInterval(() => redis.write('FLUSHALL\r\n'), 20);
      try {
        const keyed = agents.map(async (agent, n) => {
          const body = { emptied: n };
          const key = { 'Idempotency-Key': `emptied-${n}` };
          const relayRequestId = await payFor(agent, shop.listing, body, undefined, key);
          const first = await callOnce(agent, shop.listing, body, { ...key, ...withRelayId(relayRequestId) });
          expect(first.status).toBe(200);
          await delay(100);
          // The key alone brings the same answer, and another body is refused.
          expect((await callOnce(agent, shop.listing, body, key)).text).toBe(first.text);
          expect((await callOnce(agent, shop.listing, { emptied: -n - 1 }, key)).status).toBe(409);
        });
        await Promise.all(keyed);
      } finally {
        clearInterval(emptying);
        redis.destroy();
      }
      await expectBooksInOrder(marketplace, [shop]);
    },
    240_000,
  );

  it.each<{ victim: ProcessName; standIn?: ProcessName }>(
    mode === 'standalone'
      ? [{ victim: 'standalone' }, { victim: 'postgres' }]
      : [
          { victim: 'gateway', standIn: 'gateway#2' },
          { victim: 'payments-ledger', standIn: 'payments-ledger#2' },
          { victim: 'postgres' },
        ],
  )(
    'kill -9 of $victim leaves no caller waiting, what it interrupted is answered within seconds, ' +
      'and so is what is asked within seconds of its return',
    async ({ victim, standIn }) => {
      const { calls, answers } = await startPaidCalls();
      const killedAt = performance.now();
      await marketplace.kill(victim);
      gate.open();
      const statuses = await answers;
      // 0 is a connection that was lost with its process. A caller that pays with a signature has no relay request id
      // and gets 503 instead of 202.
      const unexpected = statuses.filter((status, n) => {
        const others = standIn && calls[n]!.relayRequestId ? [] : [503];
        return ![200, 202, victim === 'standalone' ? 0 : 200, ...others].includes(status);
      });
      expect(unexpected).toEqual([]);
      expect(performance.now() - killedAt).toBeLessThan(RECOVERY_TIMEOUT_MS);
      if (standIn) {
        // The killed process is not restarted, so the other one takes over its calls.
        await Promise.all(calls.map(delivered));
        expect(performance.now() - killedAt).toBeLessThan(2 * RECOVERY_TIMEOUT_MS);
        await marketplace.kill(standIn);
        await marketplace.restart(standIn);
      } else await marketplace.restart(victim);
      const backAt = performance.now();
      await new RetryingBuyer(agents.at(-1)!, shop.listing).buy({ after: victim });
      expect(performance.now() - backAt).toBeLessThan(SERVICE_TIMEOUT_MS);
      await Promise.all(calls.map(delivered));
      expect(performance.now() - backAt).toBeLessThan(RECOVERY_TIMEOUT_MS);
      if (standIn) await marketplace.restart(victim);
      await expectBooksInOrder(marketplace, [shop]);
    },
    180_000,
  );

  it('a process that is paused loses its calls to another, and none where there is no other; each is charged once', async () => {
    const { calls, answers } = await startPaidCalls();
    const before = shop.requests.length;
    const resume = pause(mode === 'standalone' ? 'standalone' : 'gateway');
    try {
      gate.open();
      if (mode === 'distributed') await Promise.all(calls.map(delivered));
      else await delay(3_000);
    } finally {
      resume();
    }
    const statuses = await answers;
    expect(statuses.filter((status, n) => ![200, 202, calls[n]!.relayRequestId ? 200 : 503].includes(status))).toEqual(
      [],
    );
    if (mode === 'standalone') expect(shop.requests.length).toBe(before);
    await Promise.all(calls.map(delivered));
    await expectBooksInOrder(marketplace, [shop]);
  }, 180_000);

  (mode === 'distributed' ? it : it.skip)(
    'a ledger that is paused in the middle of settling holds up no call for long, and charges for none again',
    async () => {
      const { calls, answers } = await startPaidCalls();
      const resume = await withClient(marketplace.databaseUrl, async (client) => {
        await client.query('BEGIN');
        await client.query("SELECT FROM payments_ledger.payments WHERE state = 'verified' FOR UPDATE");
        gate.open();
        // Both ledgers have begun to settle when one is paused, which then gets its locks.
        const waiting = `SELECT DISTINCT pid FROM pg_locks JOIN pg_stat_activity USING (pid)
          WHERE NOT granted AND application_name = 'market payments_ledger'`;
        await eventually(async () => expect((await client.query(waiting)).rowCount).toBeGreaterThanOrEqual(2), {
          withinMs: 20_000,
        });
        const goOn = pause('payments-ledger');
        await client.query('COMMIT');
        return goOn;
      });
      try {
        // The locks of the paused process must be released within this time, so that the other one can continue.
        await withClient(marketplace.databaseUrl, async (client) => {
          const { rows: begun } = await client.query(
            `SELECT pid, xact_start FROM pg_stat_activity WHERE application_name = 'market payments_ledger' AND xact_start IS NOT NULL`,
          );
          const open = `SELECT FROM pg_stat_activity a
            JOIN jsonb_to_recordset($1) AS b (pid int, xact_start timestamptz) USING (pid, xact_start)`;
          await eventually(async () => expect((await client.query(open, [JSON.stringify(begun)])).rowCount).toBe(0), {
            withinMs: RECOVERY_TIMEOUT_MS,
          });
        });
        await Promise.all(calls.map(delivered));
      } finally {
        resume();
      }
      await answers;
      await expectBooksInOrder(marketplace, [shop]);
    },
    180_000,
  );

  (mode === 'distributed' ? it : it.skip)(
    'beside one ledger of two that is paused half of the calls are answered at once, all in the end, and none is charged again',
    async () => {
      const calls = await Promise.all(agents.map((agent, n) => withKey(agent, { pausedFor: n })));
      const waits: number[] = [];
      const resume = pause('payments-ledger');
      try {
        const pausedAt = performance.now();
        await Promise.all(
          calls.map(async (call) => {
            await delivered(call);
            waits.push(performance.now() - pausedAt);
          }),
        );
      } finally {
        resume();
      }
      // Each request reaches the paused process with a probability of one half, so the median is checked; every call
      // must be delivered in time.
      expect(waits.toSorted((a, b) => a - b)[Math.floor(waits.length / 2)]).toBeLessThan(RECOVERY_TIMEOUT_MS + 4_000);
      await expectBooksInOrder(marketplace, [shop]);
    },
    180_000,
  );

  it('sixty calls at once whose answers have 1 to 4 MB each get their own', async () => {
    const large = await openShop(seller, ({ body }) => ({ text: textOf((body as { call: number }).call) }));
    await seller.market.endpoint.update(large.listing, {
      timeout_ms: 60_000,
      limits: { max_response_bytes: 4_194_304, max_concurrency: 60 },
    });
    try {
      await Promise.all(
        Array.from({ length: 60 }, async (_, call) => {
          const agent = agents[call % BUYERS]!;
          const relayRequestId = await payFor(agent, large.listing, { call });
          // Seller, buyers and marketplace share a machine, so an answer may be late. The repeated call is charged
          // once.
          const result = await eventually(
            async () => {
              const answer = await callOnce(agent, large.listing, { call }, withRelayId(relayRequestId));
              const { seller_response, ...rest } = resultOf(answer);
              expect([answer.status, rest]).toEqual([200, expect.objectContaining({ billable: true })]);
              return seller_response as { text: string };
            },
            { withinMs: 60_000, everyMs: 1_000 },
          );
          expect(result.text === textOf(call)).toBe(true);
        }),
      );
      await expectBooksInOrder(marketplace, [large]);
    } finally {
      await large.close();
    }
  }, 240_000);

  /** Starts paid calls that the seller holds. Returns them and the statuses of their answers. */
  async function startPaidCalls(): Promise<{ calls: PaidCall[]; answers: Promise<number[]> }> {
    gate.close();
    const calls = await Promise.all([
      ...agents.slice(0, 6).map((agent) => withKey(agent, { held: (held += 1) })),
      ...Array.from({ length: 4 }, (_, n) => withoutKey({ held: (held += 1) }, n % 2 === 1)),
    ]);
    const answers = calls.map(async ({ ask, relayRequestId }) => {
      const answer = await ask().catch(() => ({ status: 0 }));
      if (answer.status === 202 && relayRequestId)
        expect(answer).toMatchObject({ json: { data: { relay_request_id: relayRequestId } } });
      return answer.status;
    });
    await eventually(() => expect(gate.waiting).toBe(calls.length));
    return { calls, answers: Promise.all(answers) };
  }

  async function withKey(agent: Agent, body: object): Promise<PaidCall> {
    const relayRequestId = await payFor(agent, shop.listing, body);
    return { relayRequestId, ask: () => callOnce(agent, shop.listing, body, withRelayId(relayRequestId)) };
  }

  /** Repeats the same signed payment, of x402 or of the Machine Payments Protocol. */
  async function withoutKey(body: object, byMpp: boolean): Promise<PaidCall> {
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(generatePrivateKey())));
    const post = (headers?: Record<string, string>): Promise<Response> =>
      fetch(`${marketplace.baseUrl}/api/v1/x402/${shop.listing.slug}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
    const asked = await post();
    if (byMpp) {
      const authorization = await mppClient().createCredential(asked);
      return { ask: () => post({ authorization }) };
    }
    const http = new x402HTTPClient(client);
    const required = http.getPaymentRequiredResponse((name) => asked.headers.get(name), await asked.json());
    const signed = http.encodePaymentSignatureHeader(await client.createPaymentPayload(required));
    return { ask: () => post(signed) };
  }

  /** Pauses a process. @returns a function that resumes it. */
  function pause(name: ProcessName): () => void {
    const pid = marketplace.pid(name)!;
    process.kill(pid, 'SIGSTOP');
    return () => void process.kill(pid, 'SIGCONT');
  }

  /** Repeats the call until it is answered; no answer may ask for another payment. */
  async function delivered({ ask }: PaidCall): Promise<void> {
    const statuses = new Set<number>();
    await eventually(async () => expect(statuses.add((await ask()).status)).toContain(200), {
      withinMs: 30_000,
      everyMs: 100,
    });
    expect([...statuses].filter((status) => ![200, 202, 503].includes(status))).toEqual([]);
  }

  /** Lets the buyers buy continuously while the victims are killed and restarted one after another. */
  async function trade(buyers: RetryingBuyer[], victims: ProcessName[]): Promise<Purchase[]> {
    const finished: Purchase[] = [];
    let isOpen = true;
    const shopping = buyers.map(async (buyer, n) => {
      for (let call = 0; isOpen; call += 1) {
        finished.push(await buyer.buy({ buyer: n, call }));
        await delay(PAUSE_MS);
      }
    });
    const trading = Promise.all(shopping);
    const progress = async (): Promise<void> => {
      const goal = finished.length + BETWEEN_FAULTS;
      await Promise.race([
        trading,
        eventually(() => expect(finished.length).toBeGreaterThanOrEqual(goal), { withinMs: 90_000 }),
      ]);
    };
    try {
      for (const victim of victims) {
        await progress();
        await marketplace.kill(victim);
        await marketplace.restart(victim);
      }
      await progress();
    } catch (error) {
      buyers.forEach((buyer) => buyer.rest());
      await Promise.allSettled(shopping);
      throw error;
    }
    isOpen = false;
    await trading;
    return finished;
  }
});

/** Text of 1, 2, 3 or nearly 4 MB. */
const textOf = (call: number): string => `${call} `.padEnd(((call % 4) + 1) * 1_000_000, 'x');

/** Adds the errors in the services' logs to a failure. */
async function sayingWhy<T>(marketplace: RunningMarketplace, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const logged = marketplace.processes.flatMap((name) =>
      marketplace
        .logs(name)
        .split('\n')
        .filter((line) => /"level":[56]0/.test(line))
        .map((line) => `${name} ${line}`),
    );
    throw new Error(`${(cause as Error).message}\n${logged.join('\n')}`, { cause });
  }
}
