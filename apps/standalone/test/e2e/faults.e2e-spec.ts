import { eventually, startMarketplace, withClient, type ProcessName, type RunningMarketplace } from '@market/testing';
import { setTimeout as delay } from 'node:timers/promises';
import { expectBooksInOrder } from '../support/books.js';
import { callOnce, payFor, resultOf, withRelayId } from '../support/buyer.js';
import { openShop, type Shop } from '../support/seller.js';
import { TirelessBuyer, type Purchase } from '../support/tireless-buyer.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

const BUYERS = 16;
/** So many purchases are finished before a process is killed, and again after it is back. */
const BETWEEN_FAULTS = 12;
// A seller that shares a starved machine is late now and then, and would soon count as failing.
const SETTINGS = {
  PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '250',
  GATEWAY_RESUME_INTERVAL_MS: '250',
  GATEWAY_FAILING_AFTER: '1000',
};

/** The promise is 3 s; this machine may be busy. */
const RECOVERY_TIMEOUT_MS = 6_000;

interface PaidCall {
  agent: Agent;
  body: object;
  relayRequestId: string;
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
    // Answers take 0 to 40 ms, in a fixed order, so that a kill meets calls in every stage.
    shop = await openShop(seller, async ({ body }) => {
      await delay(((turn += 7) % 41) as number);
      await gate.pass();
      return { echo: body };
    });
    agents = await Promise.all(
      Array.from({ length: BUYERS }, (_, n) => registerAgent(marketplace, { displayName: `Buyer ${n}` })),
    );
  }, 120_000);

  afterAll(async () => {
    await shop?.close();
    await marketplace?.stop();
  }, 60_000);

  it('a call is charged once and delivered once for 64 connections at once, over all replicas, and all get equal bytes', async () => {
    const crowds = agents.map(async (agent, n) => {
      const body = { crowd: n };
      const relayRequestId = await payFor(agent, shop.listing, body);
      const answers = await Promise.all(
        Array.from({ length: 64 }, () => callOnce(agent, shop.listing, body, withRelayId(relayRequestId))),
      );
      expect(answers.filter(({ status }) => status !== 200 && status !== 202)).toEqual([]);
      const done = answers.filter(({ status }) => status === 200);
      expect(new Set(done.map(({ text }) => text)).size).toBe(1);
      expect(shop.deliveries.timesCalled(resultOf(done[0]!).request_id)).toBe(1);
    });
    await Promise.all(crowds);
    await expectBooksInOrder(marketplace, [shop]);
  }, 120_000);

  it('kill -9 of anything in the middle of paid calls leaves each of them charged once and delivered once', async () => {
    // The shorter a seller may take, the sooner a claim that died with its process is free again.
    await seller.market.endpoint.update(shop.listing, { timeout_ms: 1_000 });
    const buyers = agents.map((agent) => new TirelessBuyer(agent, shop.listing));
    const victims: ProcessName[] =
      mode === 'standalone'
        ? ['standalone', 'standalone', 'standalone']
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
    const finished = await sayingWhy(marketplace, () => trade(buyers, victims));

    // Every buyer asks once more for everything it has: the same bytes, and nobody is called.
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
  }, 240_000);

  it.each(mode === 'standalone' ? (['standalone'] as const) : (['gateway', 'payments-ledger', 'postgres'] as const))(
    'kill -9 of %s leaves no caller waiting, and what it interrupted is answered within seconds of its return',
    async (victim) => {
      const calls = await callsUnderWay();
      const waiting = calls.map(async ({ agent, body, relayRequestId }) =>
        callOnce(agent, shop.listing, body, withRelayId(relayRequestId)).then(
          ({ status }) => status,
          () => 0,
        ),
      );
      await eventually(() => expect(gate.waiting).toBe(calls.length));
      const killedAt = performance.now();
      await marketplace.kill(victim);
      gate.open();
      const statuses = await Promise.all(waiting);
      // 0 is a connection that died with its process.
      expect(statuses.filter((status) => ![0, 200, 202, 503].includes(status))).toEqual([]);
      expect(performance.now() - killedAt).toBeLessThan(RECOVERY_TIMEOUT_MS);
      await marketplace.restart(victim);
      const backAt = performance.now();
      await Promise.all(calls.map((call) => delivered(call)));
      expect(performance.now() - backAt).toBeLessThan(RECOVERY_TIMEOUT_MS);
      await expectBooksInOrder(marketplace, [shop]);
    },
    90_000,
  );

  it('a process that is paused loses its calls to another, and none where there is no other; each is charged once', async () => {
    const victim: ProcessName = mode === 'standalone' ? 'standalone' : 'gateway';
    const calls = await callsUnderWay();
    const waiting = calls.map(({ agent, body, relayRequestId }) =>
      callOnce(agent, shop.listing, body, withRelayId(relayRequestId)),
    );
    await eventually(() => expect(gate.waiting).toBe(calls.length));
    const before = shop.requests.length;
    const pid = marketplace.pid(victim)!;
    process.kill(pid, 'SIGSTOP');
    try {
      gate.open();
      if (mode === 'distributed') await Promise.all(calls.map((call) => delivered(call)));
      else await delay(3_000);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    const statuses = (await Promise.all(waiting)).map(({ status }) => status);
    expect(statuses.filter((status) => status !== 200 && status !== 202)).toEqual([]);
    if (mode === 'standalone') expect(shop.requests.length).toBe(before);
    await Promise.all(calls.map((call) => delivered(call)));
    await expectBooksInOrder(marketplace, [shop]);
  }, 90_000);

  /** Paid for, and to be held by the seller. */
  async function callsUnderWay(): Promise<PaidCall[]> {
    gate.close();
    return Promise.all(
      agents.slice(0, 8).map(async (agent) => {
        const body = { held: (held += 1) };
        return { agent, body, relayRequestId: await payFor(agent, shop.listing, body) };
      }),
    );
  }

  /** Asks until the answer is there. */
  async function delivered({ agent, body, relayRequestId }: PaidCall): Promise<void> {
    await eventually(
      async () => expect((await callOnce(agent, shop.listing, body, withRelayId(relayRequestId))).status).toBe(200),
      { withinMs: 30_000, everyMs: 100 },
    );
  }

  /** Lets the buyers buy, one call after another, while one victim after another is killed and comes back. */
  async function trade(buyers: TirelessBuyer[], victims: ProcessName[]): Promise<Purchase[]> {
    const finished: Purchase[] = [];
    let isOpen = true;
    const shopping = buyers.map(async (buyer, n) => {
      for (let call = 0; isOpen; call += 1) finished.push(await buyer.buy({ buyer: n, call }));
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

/** Adds to a failure what the services logged as errors. */
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
