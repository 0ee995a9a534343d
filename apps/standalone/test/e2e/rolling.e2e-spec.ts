import { countOf } from '@market/test-servers/threats';
import { describeNeeding, startMarketplace, startBalancer, type Nginx, type RunningMarketplace } from '@market/testing';
import { setTimeout as delay } from 'node:timers/promises';
import { expectBooksInOrder } from '../support/books.js';
import { callOnce, payFor, resultOf, withRelayId } from '../support/buyer.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { takeTheMachine } from '../support/whole-machine.js';

const ROUNDS = countOf('rolls');
const CALLS_A_SECOND = 20;
/** Some calls are at their seller when the processes are told to stop. */
const SELLER_MS = [20, 20, 20, 2_500];

inEachMode('a rolling restart behind a proxy', ({ mode }) => {
  takeTheMachine();
  describeNeeding('nginx')('of every process, two of each service', () => {
    let marketplace: RunningMarketplace;
    let proxy: Nginx;
    let buyer: Agent;
    let shop: Shop;

    beforeAll(async () => {
      if (mode === 'standalone') return;
      const two = { 'api-gateway': 2, gateway: 2, 'payments-ledger': 2, identity: 2, catalog: 2, reputation: 2 };
      marketplace = await startMarketplace({ mode, replicas: two, env: { STOP_DELAY_SECONDS: '1' } });
      proxy = await startBalancer(marketplace.edgeUrls);
      const through = { baseUrl: proxy.url };
      let calls = 0;
      [buyer, shop] = [
        await registerAgent(through),
        await openShop(await registerAgent(through), async ({ body }) => {
          await delay(SELLER_MS[(calls += 1) % SELLER_MS.length]);
          return { echo: body };
        }),
      ];
    }, 360_000);
    afterAll(async () => {
      await shop?.close();
      await proxy?.stop();
      await marketplace?.stop();
    }, 240_000);

    (mode === 'standalone' ? it.skip : it)(
      'fails no request and calls no seller twice',
      async () => {
        const unlike: string[] = [];
        let [sent, isOver] = [0, false];
        const call = async (n: number): Promise<void> => {
          try {
            const relayRequestId = await payFor(buyer, shop.listing, { n });
            const answer = await callOnce(buyer, shop.listing, { n }, withRelayId(relayRequestId));
            if (answer.status !== 200 || !resultOf(answer).billable) unlike.push(`${answer.status} ${answer.text}`);
          } catch (error) {
            unlike.push(String(error));
          }
        };
        const load = (async () => {
          const calls: Promise<void>[] = [];
          for (; !isOver; sent += 1) {
            calls.push(call(sent));
            await delay(1_000 / CALLS_A_SECOND);
          }
          await Promise.all(calls);
        })();
        try {
          for (let round = 0; round < ROUNDS; round += 1)
            for (const name of marketplace.processes) await marketplace.restart(name);
        } finally {
          isOver = true;
          await load;
        }
        expect({ unlike: unlike.slice(0, 5), failed: unlike.length }).toEqual({ unlike: [], failed: 0 });
        expect(shop.requests.filter(({ call: { event } }) => event === 'gateway.call')).toHaveLength(sent);
        await expectBooksInOrder(marketplace, [shop]);
      },
      480_000 * ROUNDS,
    );
  });
});
