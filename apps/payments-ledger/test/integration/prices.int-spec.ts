import { eventually } from '@market/testing';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Address } from 'viem';
import { ChainlinkSource } from '../../src/rails/prices/chainlink.source.js';
import { HttpSource } from '../../src/rails/prices/http.source.js';
import { startEvmWorld, type EvmWorld, type Round } from '../support/evm-world.js';
import { newOrder, startLedger, type LedgerWorld } from '../support/ledger-world.js';

const secondsAgo = (seconds: number): bigint => BigInt(Math.floor(Date.now() / 1000) - seconds);
const listen = async (listener: RequestListener): Promise<Server> => {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
};
const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const close = async (server: Server): Promise<void> => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
};

describe('prices', () => {
  let chain: EvmWorld;
  let aggregator: Address;
  beforeAll(async () => {
    chain = await startEvmWorld();
    aggregator = await chain.deploy('Aggregator');
  });
  afterAll(() => chain.stop());

  const setRound = (changes: Partial<Round> = {}): Promise<void> => chain.setRound(aggregator, { decimals: 8, roundId: 5n, answer: 3_456_12345678n, updatedAt: secondsAgo(10), answeredInRound: 5n, ...changes });

  describe('of an aggregator on a real chain', () => {
    const sourceOf = (changes: { chainId?: number; rpcUrls?: string[]; aggregator?: Address } = {}): ChainlinkSource => new ChainlinkSource({ chainId: 31_337, aggregator, rpcUrls: [chain.node.url], timeoutMs: 2_000, ...changes });

    it('are its answer in micros, rounded down, under its own time', async () => {
      const updatedAt = secondsAgo(10);
      for (const [decimals, answer, micros] of [[8, 3_456_12345678n, 3_456_123_456n], [18, 150n * 10n ** 18n, 150_000_000n], [0, 42n, 42_000_000n]] as const) {
        await setRound({ decimals, answer, updatedAt });
        expect(await sourceOf().read()).toEqual({ micros, at: new Date(Number(updatedAt) * 1000) });
      }
    });

    it.each<[string, Partial<Round>, string]>([
      ['an answer of 0', { answer: 0n }, 'not above 0'],
      ['a negative answer', { answer: -1n }, 'not above 0'],
      ['less than a micro', { answer: 99n }, 'not above 0'],
      ['a round that has not begun', { updatedAt: 0n }, 'not complete'],
      ['an answer carried over from an earlier round', { answeredInRound: 4n }, 'not complete'],
      ['more decimals than make sense', { decimals: 255 }, 'cannot be read'],
      ['a time beyond all calendars', { updatedAt: 2n ** 200n }, 'cannot be read'],
    ])('are not %s', async (_name, round, problem) => {
      await setRound(round);
      await expect(sourceOf().read()).rejects.toThrow(problem);
    });

    it('are not those of another chain, of no contract, or of a server that is gone', async () => {
      await setRound();
      await expect(sourceOf({ chainId: 1 }).read()).rejects.toThrow('serves chain 31337');
      await expect(sourceOf({ aggregator: '0x000000000000000000000000000000000000dEaD' }).read()).rejects.toThrow('does not answer');
      const error: unknown = await sourceOf({ rpcUrls: ['http://127.0.0.1:1/secret-key'] }).read().catch((reason: unknown) => reason);
      expect(String(error)).toContain('does not answer');
      expect(String(error)).not.toContain('secret-key');
    });

    it('are asked of the second server where the first is gone', async () => {
      await setRound();
      expect((await sourceOf({ rpcUrls: ['http://127.0.0.1:1', chain.node.url] }).read()).micros).toBe(3_456_123_456n);
    });
  });

  describe('of a server', () => {
    let server: Server;
    let answer: RequestListener;
    beforeAll(async () => {
      server = await listen((request, response) => answer(request, response));
    });
    afterAll(() => close(server));
    const says = (body: string, status = 200) => (answer = (_request, response) => void response.writeHead(status, { 'content-type': 'application/json' }).end(body));
    const read = (timePointer: string | null = null, pricePointer = '/data/amount') => new HttpSource({ url: `${urlOf(server)}/prices`, pricePointer, timePointer, timeoutMs: 500 }).read();

    it.each([
      ['{"data":{"amount":"3012.345678"}}', 3_012_345_678n],
      ['{"data":{"amount":3012.345678}}', 3_012_345_678n],
      ['{"data":{"amount":0.1},"note":"1.5e9 \\" 7"}', 100_000n],
      // As a double it would be 9007199254.740993 and lose the last digit.
      ['{"data":{"amount":9007199254.7409931234}}', 9_007_199_254_740_993n],
      ['{"data":{"amount":"3012.3456789999"}}', 3_012_345_678n],
      ['{"data":{"amount":1000}}', 1_000_000_000n],
    ])('are read digit for digit from %s', async (body, micros) => {
      says(body);
      expect((await read()).micros).toBe(micros);
    });

    it('are under the time the server says, or else of the moment they were asked for', async () => {
      for (const time of ['1767225600', '"1767225600000"', '"2026-01-01T00:00:00Z"', '"2026-01-01T01:00:00.000+01:00"']) {
        says(`{"data":{"amount":"1"},"time":${time}}`);
        expect((await read('/time')).at.toISOString()).toBe('2026-01-01T00:00:00.000Z');
      }
      const before = Date.now();
      expect((await read()).at.getTime()).toBeGreaterThanOrEqual(before);
    });

    it.each<[string, string, string]>([
      ['a price with an exponent', '{"data":{"amount":3e3}}', 'no plain decimal'],
      ['a negative price', '{"data":{"amount":-1}}', 'no plain decimal'],
      ['a price with a thousands separator', '{"data":{"amount":"3,000.00"}}', 'no plain decimal'],
      ['an endless price', '{"data":{"amount":0.1234567890123456789}}', 'no plain decimal'],
      ['a price of nothing', '{"data":{"amount":0}}', 'not above 0'],
      ['no price', '{"data":{}}', 'no text and no number'],
      ['a price that is an object', '{"data":{"amount":{"usd":1}}}', 'no text and no number'],
      ['null', '{"data":{"amount":null}}', 'no text and no number'],
      ['a name every object has', '{"data":{}, "constructor":1}', 'no text and no number'],
      ['half a document', '{"data":{"amount":"30', 'not answer JSON'],
      ['a page', '<html>3000</html>', 'not answer JSON'],
      ['a document without end', `{"data":{"amount":"3000"},"pad":"${'x'.repeat(70_000)}"}`, 'larger than'],
    ])('are not %s', async (_name, body, problem) => {
      says(body);
      await expect(read()).rejects.toThrow(problem);
    });

    it('are not what comes with a bad time, an error, a redirect, late or not at all', async () => {
      says('{"data":{"amount":"1"},"time":"yesterday"}');
      await expect(read('/time')).rejects.toThrow('no time');
      says('{"data":{"amount":"1"}}', 500);
      await expect(read()).rejects.toThrow('answers 500');
      answer = (_request, response) => void response.writeHead(302, { location: '/elsewhere' }).end();
      await expect(read()).rejects.toThrow('does not answer');
      answer = () => {};
      await expect(read()).rejects.toThrow('does not answer');
      answer = (_request, response) => void response.writeHead(200, { 'content-length': 99 }).write('{"data"', () => response.destroy());
      await expect(read()).rejects.toThrow('breaks off');
      answer = (_request, response) => void response.writeHead(200).write('{"data"');
      await expect(read()).rejects.toThrow('breaks off');
    });
  });

  describe('in the ledger', () => {
    let world: LedgerWorld;
    let server: Server;
    let solana = '{"price":"151.5"}';
    let requests = 0;
    const order = () => newOrder({ priceMicros: '250000' });
    const pricedAt = async (paymentId: string) => (await world.db.inspect<{ micros: string | null; at: Date | null }>('SELECT unit_price_micros::text AS micros, priced_at AS at FROM payments_ledger.payments WHERE id = $1', [paymentId]))[0]!;

    beforeAll(async () => {
      await setRound();
      server = await listen((_request, response) => {
        requests += 1;
        response.end(solana);
      });
      world = await startLedger({
        env: {
          PAYMENTS_LEDGER_PRICE_ETH: `chainlink:eip155:31337:${aggregator}`,
          PAYMENTS_LEDGER_PRICE_RPC_URLS: `eip155:31337=${chain.node.url}`,
          PAYMENTS_LEDGER_PRICE_SOL: `http:${urlOf(server)}/#/price`,
          PAYMENTS_LEDGER_PRICE_MAX_AGE_SECONDS: '30',
        },
      });
    });
    afterAll(async () => {
      await world.stop();
      await close(server);
    });

    it('make the amount of an offer, and are kept with it', async () => {
      const eth = (await world.quote(order(), { originCurrency: 'ETH' })).offer;
      expect(eth.requirements.amount_base_units).toBe(((250_000n * 10n ** 18n + 3_456_123_455n) / 3_456_123_456n).toString());
      expect(await pricedAt(eth.payment_id)).toEqual({ micros: '3456123456', at: expect.any(Date) as Date });
      const sol = (await world.quote(order(), { originCurrency: 'SOL' })).offer;
      expect(sol.requirements.amount_base_units).toBe('1650166');
      expect((await pricedAt(sol.payment_id)).micros).toBe('151500000');
      const usdc = (await world.quote(order())).offer;
      expect(await pricedAt(usdc.payment_id)).toEqual({ micros: '1000000', at: null });
    });

    it('cost no request of their own while they are fresh', async () => {
      await world.quote(order(), { originCurrency: 'SOL' });
      const before = requests;
      await Promise.all(Array.from({ length: 32 }, () => world.quote(order(), { originCurrency: 'SOL' })));
      expect(requests).toBe(before);
    });

    it('refuse a currency whose price is too old, or take another route where nobody chose it', async () => {
      await setRound({ updatedAt: secondsAgo(3_600) });
      const wanted = order();
      const prefersEth = { ...wanted, listing: { ...wanted.listing, preferredCurrency: 'ETH' as const } };
      const stale = await startLedger({ env: { PAYMENTS_LEDGER_PRICE_ETH: `chainlink:eip155:31337:${aggregator}`, PAYMENTS_LEDGER_PRICE_RPC_URLS: `eip155:31337=${chain.node.url}`, PAYMENTS_LEDGER_PRICE_MAX_AGE_SECONDS: '30' } });
      const refused: unknown = await stale.quote(prefersEth, { originCurrency: 'ETH' }).catch((reason: unknown) => reason);
      expect(refused).toMatchObject({ reason: 'price_unavailable', declaration: { kind: 'unavailable' }, details: { currency: 'ETH', retry_after_seconds: 5 } });
      expect((await stale.quote(prefersEth)).offer.requirements.currency).toBe('SOL');
      expect((await stale.quote(prefersEth, { originCurrency: 'USDC' })).offer.requirements.currency).toBe('USDC');
      await stale.stop();
    });

    it('are no reason not to start: what cannot be read is refused, and quoted as soon as it can', async () => {
      solana = 'down';
      const late = await startLedger({ env: { PAYMENTS_LEDGER_PRICE_SOL: `http:${urlOf(server)}/#/price`, PAYMENTS_LEDGER_PRICE_REFRESH_SECONDS: '1' } });
      expect(await late.quote(order(), { originCurrency: 'SOL' }).catch((reason: unknown) => (reason as { reason: string }).reason)).toBe('price_unavailable');
      solana = '{"price":149}';
      await eventually(async () => expect((await late.quote(order(), { originCurrency: 'SOL' })).offer.requirements.currency).toBe('SOL'), { withinMs: 10_000 });
      await late.stop();
    });
  });
});
