import { startMarketplace, type RunningMarketplace } from '@market/testing';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { x402Client, x402HTTPClient } from '@x402/fetch';
import pg from 'pg';
import { Pool } from 'undici';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { startChild, type Child } from '../child.js';
import { addressOf, fire, type Measured, type Shot } from '../load.js';
import { jsonHeaders, LIMITS_AS_SHIPPED, openShop, PRICE, type Fixtures } from '../fixtures.js';
import { progress } from '../progress.js';
import { CHAIN_ID, NETWORK } from './chain.js';

export interface X402Options {
  /** Each target is measured once for every number of connections. */
  connections: number[];
  seconds: number;
  /** How many payments are signed before each measurement. */
  paid: number;
}

/** A server where a call can be bought. */
interface Shop {
  name: string;
  origin: string;
  /** The request without its payment; each n gives another body. */
  shot(n: number): Shot;
}

interface Row {
  connections: number;
  paid: Measured;
  asked: Measured;
}

const WARM_UP_PAYMENTS = 300;
const SIGNING_CONNECTIONS = 16;

/** Measures calls that are paid by a signed authorization: at an Express seller, and at the marketplace with and without a key. */
export async function measureX402(options: X402Options): Promise<void> {
  const children: Child[] = [];
  const child = async (...start: Parameters<typeof startChild>): Promise<string> => {
    const started = await startChild(...start);
    children.push(started);
    return started.url;
  };
  let market: RunningMarketplace | undefined;
  try {
    const [sellerUrl, facilitatorUrl] = [await child('./limits/seller.js'), await child('./x402/facilitator.js')];
    const payTo = privateKeyToAccount(generatePrivateKey()).address;
    const expressUrl = await child('./x402/express-seller.js', {
      SELLER_URL: sellerUrl,
      FACILITATOR_URL: facilitatorUrl,
      PAY_TO: payTo,
      PRICE: `$${PRICE}`,
    });
    market = await startMarketplace({
      mode: 'standalone',
      env: {
        ...LIMITS_AS_SHIPPED,
        PAYMENTS_LEDGER_X402_CHAINS: NETWORK,
        PAYMENTS_LEDGER_X402_PAY_TO: 'operator',
        PAYMENTS_LEDGER_X402_PAY_TO_ADDRESS: payTo,
        PAYMENTS_LEDGER_X402_FACILITATOR_URL: facilitatorUrl,
      },
    });
    const fixtures = await openShop(market.baseUrl, sellerUrl);
    const shops = shopsOf(fixtures, new URL(market.baseUrl).origin, expressUrl);
    const rows = new Map<Shop, Row[]>(shops.map((shop) => [shop, []]));
    for (const shop of shops) await measurePaid(shop, SIGNING_CONNECTIONS, { ...options, paid: WARM_UP_PAYMENTS });
    for (const connections of options.connections) {
      for (const shop of shops)
        rows.get(shop)!.push({
          connections,
          paid: await measurePaid(shop, connections, options),
          asked: await measureAsked(shop, connections, options),
        });
    }
    print(rows, options);
    await sayWhatIsOpen(market.databaseUrl);
  } finally {
    await market?.stop();
    for (const started of children.reverse()) await started.stop();
  }
}

function shopsOf(fixtures: Fixtures, origin: string, expressUrl: string): Shop[] {
  const body = (n: number): string => JSON.stringify({ place: 'Zurich', hours: 12, n });
  const keyed = (n: number) => ({ ...jsonHeaders(fixtures, n), 'x-market-origin-chain-id': String(CHAIN_ID) });
  const json = (n: number) => ({ 'content-type': 'application/json', 'x-forwarded-for': addressOf(n) });
  return [
    {
      name: '@x402/express',
      origin: expressUrl,
      shot: (n) => ({ method: 'POST', path: '/weather', headers: json(n), body: body(n) }),
    },
    {
      name: 'POST /x402/{slug}',
      origin,
      shot: (n) => ({ method: 'POST', path: `/api/v1/x402/${fixtures.listingSlug}`, headers: json(n), body: body(n) }),
    },
    {
      name: 'POST /gateway/{id}',
      origin,
      shot: (n) => ({
        method: 'POST',
        path: `/api/v1/gateway/${fixtures.listingId}`,
        headers: keyed(n),
        body: body(n),
      }),
    },
  ];
}

async function measurePaid(shop: Shop, connections: number, { paid, seconds }: X402Options): Promise<Measured> {
  const shots = await preparePaid(shop, paid);
  return fire({ baseUrl: shop.origin, connections, seconds, expect: 200, next: () => shots.pop() });
}

/** Measures the 402 alone. */
const measureAsked = (shop: Shop, connections: number, { seconds }: X402Options): Promise<Measured> =>
  fire({ baseUrl: shop.origin, connections, seconds, expect: 402, next: () => shop.shot(nextThing++) });

let nextThing = 0;
/** There are enough wallets that each has few calls in flight at once. */
const clients = Array.from({ length: 128 }, () =>
  new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(generatePrivateKey()))),
);
const protocol = new x402HTTPClient(clients[0]!);

/** Asks for the price and signs as a standard client does, up to its second request. */
async function preparePaid({ name, origin, shot }: Shop, count: number): Promise<Shot[]> {
  const pool = new Pool(origin, { connections: SIGNING_CONNECTIONS });
  const shots: Shot[] = [];
  const signed = progress(`signing payments at ${name}`, count);
  let left = count;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const client = clients[nextThing % clients.length]!;
      const asked = shot(nextThing++);
      const { headers, body } = await pool.request({
        method: asked.method,
        path: asked.path,
        headers: asked.headers,
        body: asked.body,
      });
      await body.dump();
      const required = protocol.getPaymentRequiredResponse((name) => headers[name.toLowerCase()] as string | undefined);
      shots.push({
        ...asked,
        headers: {
          ...asked.headers,
          ...protocol.encodePaymentSignatureHeader(await client.createPaymentPayload(required)),
        },
      });
      signed(shots.length);
    }
  };
  await Promise.all(Array.from({ length: SIGNING_CONNECTIONS }, worker));
  await pool.close();
  return shots;
}

/** A status of 200 alone does not show that the call was charged. */
async function sayWhatIsOpen(databaseUrl: string): Promise<void> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    const { rows } = await database.query<{ state: string; count: string }>(
      'SELECT state, count(*) FROM payments_ledger.authorizations GROUP BY state ORDER BY state',
    );
    console.log(`\nauthorizations of ours: ${rows.map(({ state, count }) => `${count} ${state}`).join(', ')}`);
  } finally {
    await database.end();
  }
}

function print(rows: Map<Shop, Row[]>, { seconds }: X402Options): void {
  const [limit, ...others] = [...rows];
  console.log(
    `\nstandalone, ${seconds} s each, one facilitator, seller and load on the same machine; ratios to ${limit![0].name}\n`,
  );
  console.log(
    '                    connections   paid req/s  p50 ms  p99 ms   ratio    402 req/s  p50 ms  p99 ms   ratio',
  );
  for (const [{ name }, measured] of [limit!, ...others]) {
    for (const [index, { connections, paid, asked }] of measured.entries()) {
      const beside = limit![1][index]!;
      const cells = ({ perSecond, p50Ms, p99Ms }: Measured, than: Measured): string =>
        `${perSecond.toFixed(0).padStart(11)} ${p50Ms.toFixed(1).padStart(7)} ${p99Ms.toFixed(1).padStart(7)} ` +
        `${(perSecond / than.perSecond).toFixed(2).padStart(7)}`;
      console.log(
        `${name.padEnd(20)}${String(connections).padStart(11)}  ${cells(paid, beside.paid)}  ${cells(asked, beside.asked)}`,
      );
      for (const [status, count] of [...Object.entries(paid.unexpected), ...Object.entries(asked.unexpected)])
        console.log(`  ${count} answers with status ${status}`);
    }
  }
}
