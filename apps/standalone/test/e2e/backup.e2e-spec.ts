import { Marketplace } from '@market/sdk';
import { eventually, startMarketplace, temporaryDirectory, type RunningMarketplace } from '@market/testing';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { x402Client, x402HTTPClient } from '@x402/fetch';
import { appendFile, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseUnits, type Address } from 'viem';
import { startEvmHarness, type EvmHarness } from '../../../payments-ledger/test/support/evm-harness.js';
import { admin } from '../support/admin.js';
import { payFor, withRelayId } from '../support/buyer.js';
import { inOneMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, reply, type Shop } from '../support/seller.js';
import { takeTheMachine } from '../support/whole-machine.js';

const CHAIN_ID = 84_532;
const USDC: Address = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
const FEE_ADDRESS: Address = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';
/** Sandbox payments in SOL, because USDC is paid on the chain. */
const PLAY_MONEY = { 'X-Market-Origin-Currency': 'SOL' };

interface Request {
  path: string;
  body: unknown;
  headers: Record<string, string>;
}

/** A marketplace on a real chain is backed up while it sells, continues to sell, and is then restored. */
inOneMode('a backup', () => {
  takeTheMachine();
  let chain: EvmHarness;
  let work: string;
  let env: Record<string, string>;
  let marketplace: RunningMarketplace;
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;
  /** Whether the seller fails its calls. */
  let isDown = false;
  const inWork = (name: string): string => join(work, name);
  const command = (...words: string[]) => admin({ ...env, TMPDIR: work }, 'backup', ...words);

  beforeAll(async () => {
    chain = await startEvmHarness(CHAIN_ID);
    await chain.place('SignedToken', USDC);
    await chain.send(USDC, 'mint', [chain.payer, parseUnits('1000', 6)]);
    work = await temporaryDirectory('backup');
    env = {
      DATA_DIR: inWork('data'),
      PAYMENTS_LEDGER_X402_CHAINS: `eip155:${CHAIN_ID}=${chain.node.url}`,
      PAYMENTS_LEDGER_FEE_ADDRESS: FEE_ADDRESS,
      PAYMENTS_LEDGER_X402_FACILITATOR_KEY: chain.gasKey,
    };
    marketplace = await startMarketplace({ mode: 'standalone', env });
    [seller, buyer] = [await registerAgent(marketplace), await registerAgent(marketplace)];
    shop = await openShop(seller, ({ body }) => (isDown ? reply(500, {}) : { echo: body }));
  }, 240_000);
  afterAll(async () => {
    await shop?.close();
    await marketplace?.stop();
    await chain?.stop();
    await rm(work, { recursive: true, force: true, maxRetries: 5 });
  }, 120_000);

  const send = async ({ path, body, headers }: Request) => {
    const response = await fetch(`${marketplace.baseUrl}/api/v1/${path}/${shop.listing.slug}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, json: (await response.json()) as never };
  };
  const authorization = (): Record<string, string> => ({
    authorization: buyer.registration.authorization_header,
    'X-Market-Origin-Chain-Id': String(CHAIN_ID),
  });
  const client = (): x402Client =>
    new x402Client().register('eip155:*', new ExactEvmScheme(chain.payerAccount as never));
  const quote = async (request: Request) => {
    const asked = await send(request);
    return new x402HTTPClient(client()).getPaymentRequiredResponse((name) => asked.headers.get(name), asked.json);
  };
  const sign = async (request: Request, required: Awaited<ReturnType<typeof quote>>): Promise<Request> => {
    const payload = await client().createPaymentPayload(required);
    return {
      ...request,
      headers: {
        ...request.headers,
        'payment-signature': Buffer.from(JSON.stringify(payload)).toString('base64'),
      },
    };
  };
  const received = (): Promise<bigint> => chain.balanceOf(USDC, seller.wallet.address as Address);
  const delivered = { status: 200, json: { success: true, data: { billable: true } } };

  it('is made while it sells, checked, and restored; what was paid on the chain since is charged once', async () => {
    // This call is signed before the backup and delivered after it.
    isDown = true;
    const failed = { path: 'gateway', body: { name: 'failed' }, headers: authorization() };
    const held = await sign(failed, await quote(failed));
    expect(await send(held)).toMatchObject({ status: 200, json: { data: { billable: false } } });
    isDown = false;
    // This call is quoted before the backup and signed after it.
    const quoted = { path: 'gateway', body: { name: 'quoted' }, headers: authorization() };
    const offer = await quote(quoted);

    let sold = 0;
    let isMade = false;
    const selling = (async () => {
      for (; !isMade; sold += 1) {
        const relayRequestId = await payFor(buyer, shop.listing, { sold }, undefined, PLAY_MONEY);
        await buyer.market.send('POST', `/gateway/${shop.listing.id}`, {
          rawBody: JSON.stringify({ sold }),
          headers: withRelayId(relayRequestId),
        });
      }
    })();
    await eventually(() => expect(sold).toBeGreaterThan(3));
    expect(await command('create', inWork('backup'))).toMatchObject({ code: 0 });
    isMade = true;
    await selling;
    expect(sold).toBeGreaterThan(4);

    const keyless = { path: 'x402', body: { name: 'keyless' }, headers: {} };
    const since = [await sign(keyless, await quote(keyless)), await sign(quoted, offer)];
    const played = withRelayId(await payFor(buyer, shop.listing, { name: 'play money' }, undefined, PLAY_MONEY));
    const inPlayMoney = {
      path: 'gateway',
      body: { name: 'play money' },
      headers: { authorization: buyer.registration.authorization_header, ...played },
    };
    const before = await received();
    const first = [];
    for (const request of [held, ...since, inPlayMoney]) first.push(await send(request));
    expect(first).toMatchObject(first.map(() => delivered));
    const afterwards = await received();
    expect(afterwards - before).toBe(3n * 250_000n);

    expect(await command('verify', inWork('backup'))).toMatchObject({
      code: 0,
      output: expect.stringMatching(/is whole, its PostgreSQL starts, and the books add up$/) as string,
    });
    expect(await command('restore', inWork('backup'))).toMatchObject({
      code: 1,
      output: expect.stringContaining('is not empty') as string,
    });
    await marketplace.stop();
    env.DATA_DIR = inWork('restored');
    expect(await command('restore', inWork('backup'))).toMatchObject({ code: 0 });
    marketplace = await startMarketplace({ mode: 'standalone', env });
    buyer = { ...buyer, market: new Marketplace({ baseUrl: marketplace.baseUrl, apiKey: buyer.registration.api_key }) };

    // A payment that is in the restored books is charged with its transaction on the chain.
    const again = await send(held);
    expect(again).toMatchObject(delivered);
    const transactionOf = ({ headers }: { headers: Headers }): unknown =>
      new x402HTTPClient(client()).getPaymentSettleResponse((name) => headers.get(name)).transaction;
    expect(transactionOf(again)).toBe(transactionOf(first[0]!));
    // A payment that is not in the restored books is neither charged nor delivered, and the answer says why.
    const asked = shop.requests.length;
    for (const request of since)
      expect(await send(request)).toMatchObject({
        status: 402,
        json: {
          error: {
            details: { reason: 'authorization_used_elsewhere' },
            recovery: { next_action: 'contact_operator' },
          },
        },
      });
    expect((await send(inPlayMoney)).status).toBe(404);
    expect(shop.requests).toHaveLength(asked);
    expect(await received()).toBe(afterwards);
    expect(await admin(env, 'books', 'verify')).toMatchObject({ code: 0, output: 'the books add up' });
    // The restored marketplace sells calls.
    const next = { path: 'x402', body: { name: 'next' }, headers: {} };
    expect(await send(await sign(next, await quote(next)))).toMatchObject(delivered);
    expect(await received()).toBe(afterwards + 250_000n);
  }, 240_000);

  it('is read by its owner alone, and is not restored when a byte of it is another', async () => {
    const files = await readdir(inWork('backup'), { recursive: true, withFileTypes: true });
    for (const { parentPath, name } of files)
      expect(((await stat(join(parentPath, name))).mode & 0o077).toString(8)).toBe('0');
    await appendFile(inWork('backup/postgres/cluster/PG_VERSION'), ' ');
    expect(await command('verify', inWork('backup'))).toMatchObject({
      code: 1,
      output: expect.stringContaining('PG_VERSION is not what was backed up') as string,
    });
    expect(await command('create', inWork('backup'))).toMatchObject({ code: 1 });
    await rm(inWork('backup/manifest.json'));
    env.DATA_DIR = inWork('another');
    expect(await command('restore', inWork('backup'))).toMatchObject({ code: 1 });
    expect((await readdir(work)).filter((name) => name.includes('.verify-'))).toEqual([]);
  });
});
