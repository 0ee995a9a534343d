import { invariant } from '@market/kernel';
import { eventually } from '@market/testing';
import {
  convertViemChainToRelayChain,
  createClient,
  type AdaptedWallet,
  type RelayClient,
} from '@relayprotocol/relay-sdk';
import { decodeFunctionData, erc20Abi, type Chain } from 'viem';
import { arbitrum } from 'viem/chains';
import { RelayApi, RelayUnavailable, type RelayApiSettings } from '../../src/rails/relay/relay-api.js';
import { quoteRequest, readQuote, type QuoteTerms } from '../../src/rails/relay/relay-quote.js';
import { assetOf } from '../../src/rails/relay/relay-settings.js';
import { observationOf, readStatus } from '../../src/rails/relay/relay-status.js';
import { startRelayServer, type QuoteBody, type RelayRequest, type RelayServer } from '../support/relay-server.js';

const QUOTE: QuoteBody = {
  user: '0x1111111111111111111111111111111111111111',
  recipient: '0x3333333333333333333333333333333333333333',
  refundTo: '0x1111111111111111111111111111111111111111',
  originChainId: 8453,
  originCurrency: '0x0000000000000000000000000000000000000000',
  destinationChainId: 8453,
  destinationCurrency: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  tradeType: 'EXACT_OUTPUT',
  amount: '237500',
  useDepositAddress: true,
  strict: true,
  ttl: 900,
};

const BUYER = 'a buyer';

describe('asking Relay', () => {
  let relay: RelayServer;
  beforeAll(async () => {
    relay = await startRelayServer();
  });
  beforeEach(() => {
    relay.misbehave = null;
  });
  afterAll(() => relay.stop());

  const apiOf = (changes: Partial<RelayApiSettings> = {}): RelayApi =>
    new RelayApi({
      url: relay.url,
      apiKey: relay.apiKey,
      timeoutMs: 300,
      quotesPerMinute: 50,
      statusesPerMinute: 200,
      ...changes,
    });
  const failureOf = (outcome: Promise<unknown>): Promise<unknown> =>
    outcome.then(
      (value) => value,
      (error: unknown) => error,
    );
  const requestIdOf = (answer: unknown): string => (answer as { steps: { requestId: string }[] }).steps[0]!.requestId;

  it('brings what it answers, and its refusals by their code', async () => {
    const api = apiOf({ url: `${relay.url}/` });
    const requestId = requestIdOf(await api.quote(QUOTE, BUYER));
    expect(await api.status(requestId, BUYER)).toMatchObject({ status: 'waiting', quoteCreatedAt: expect.any(Number) });
    expect(await failureOf(api.quote({ ...QUOTE, amount: '1' }, BUYER))).toMatchObject({
      name: 'RelayRefused',
      errorCode: 'AMOUNT_TOO_LOW',
    });
    expect(relay.requests.get(requestId)!.apiKey).toBe(relay.apiKey);
    expect(await failureOf(apiOf({ apiKey: 'another' }).quote(QUOTE, BUYER))).toMatchObject({
      errorCode: 'UNAUTHORIZED',
    });
  });

  it.each([
    ['seconds', '7', 7, 7],
    ['a date', () => new Date(Date.now() + 30_000).toUTCString(), 29, 30],
    ['no word of it', undefined, 10, 10],
    ['nonsense', 'soon', 10, 10],
    ['a time that is past', 'Thu, 01 Jan 1970 00:00:00 GMT', 1, 1],
    ['a year', '31536000', 600, 600],
  ])(
    'rests as long as a 429 says, where it says %s, and asks the other thing meanwhile',
    async (_name, header, least, most) => {
      const api = apiOf();
      const requestId = requestIdOf(await api.quote(QUOTE, BUYER));
      const value = typeof header === 'function' ? header() : header;
      const headers: Record<string, string> = value === undefined ? {} : { 'retry-after': value };
      relay.misbehave = (path) =>
        path.endsWith('/quote/v2') ? { status: 429, body: '{"message":"slow down"}', headers } : undefined;
      const first = await failureOf(api.quote(QUOTE, BUYER));
      expect(first).toBeInstanceOf(RelayUnavailable);
      expect((first as RelayUnavailable).retryAfterSeconds).toBeGreaterThanOrEqual(least);
      expect((first as RelayUnavailable).retryAfterSeconds).toBeLessThanOrEqual(most);
      const asked = relay.asked.length;
      expect(await failureOf(api.quote(QUOTE, BUYER))).toMatchObject({
        name: 'RelaySilent',
        message: 'Relay is asked as often as it lets itself be asked',
      });
      expect(relay.asked.length).toBe(asked);
      expect(await api.status(requestId, BUYER)).toMatchObject({ status: 'waiting' });
    },
  );

  it('stays within the rates that were set', async () => {
    const api = apiOf({ quotesPerMinute: 3, statusesPerMinute: 2 });
    const before = relay.asked.length;
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, n) => failureOf(api.quote(QUOTE, `buyer ${n}`))));
    expect(
      outcomes.filter((outcome) => outcome instanceof RelayUnavailable && outcome.retryAfterSeconds > 50),
    ).toHaveLength(17);
    const looks = await Promise.all(
      Array.from({ length: 20 }, (_, n) => failureOf(api.status(`0x${'0'.repeat(64)}`, `buyer ${n}`))),
    );
    expect(looks.filter((look) => !(look instanceof RelayUnavailable))).toEqual([
      { status: 'unknown' },
      { status: 'unknown' },
    ]);
    expect(relay.asked.length).toBe(before + 5);
  });

  it('does not wait for a Relay that is down with every quote, and asks again soon', async () => {
    const api = apiOf();
    relay.misbehave = () => 'silence';
    const began = Date.now();
    expect(await failureOf(api.quote(QUOTE, BUYER))).toMatchObject({
      message: 'Relay does not answer',
      retryAfterSeconds: 2,
    });
    // Twice without an answer would be longer than a quote waits.
    expect(Date.now() - began).toBeLessThan(8_000);
    relay.misbehave = null;
    const asked = relay.asked.length;
    for (let n = 0; n < 10; n += 1) expect(await failureOf(api.quote(QUOTE, BUYER))).toBeInstanceOf(RelayUnavailable);
    expect(relay.asked.length).toBe(asked);
    await eventually(async () => requestIdOf(await api.quote(QUOTE, BUYER)), { withinMs: 30_000, everyMs: 100 });
  });

  describe("beside Relay's own client", () => {
    const PLACES: [string, 'ETH' | 'USDC', Chain][] = [
      ['eip155:42161', 'USDC', arbitrum],
      ['eip155:42161', 'ETH', arbitrum],
    ];
    const termsOf = (network: string, currency: 'ETH' | 'USDC'): QuoteTerms => {
      const [from, to] = [assetOf(network, currency), assetOf('eip155:8453', 'USDC')];
      invariant(from && to, 'both places are known');
      return {
        draft: { priceMicros: 250_000n, netMicros: 237_500n, feeBps: 500 },
        from,
        to,
        payer: QUOTE.user,
        payout: QUOTE.recipient!,
        feeRecipient: QUOTE.user,
        referrer: 'market',
        ttlSeconds: 900,
        mostCostMicros: 100_000n,
      };
    };
    /** Sends the request of the adapter through the SDK's client. */
    const quoteByClient = (client: RelayClient, terms: QuoteTerms) => {
      const {
        user,
        recipient,
        originChainId: chainId,
        originCurrency: currency,
        destinationChainId: toChainId,
        destinationCurrency: toCurrency,
        tradeType,
        amount,
        ...options
      } = quoteRequest(terms);
      return client.actions.getQuote(
        { user, recipient, chainId, currency, toChainId, toCurrency, tradeType, amount, options },
        false,
        { 'x-api-key': relay.apiKey },
      );
    };
    /** A wallet that sends the requested transaction. `becomes` processes the deposit. */
    const walletOf = (
      chainId: number,
      becomes: (depositAddress: string, amount: bigint) => RelayRequest,
    ): AdaptedWallet => ({
      vmType: 'evm',
      address: () => Promise.resolve(QUOTE.user),
      getChainId: () => Promise.resolve(chainId),
      switchChain: () => Promise.resolve(),
      handleSignMessageStep: () => Promise.reject(new Error('nothing is signed')),
      handleSendTransactionStep: (_chainId, { data: { to, value, data } }) => {
        const [depositAddress, amount] =
          data === '0x' ? [to, BigInt(value)] : (decodeFunctionData({ abi: erc20Abi, data }).args as [string, bigint]);
        return Promise.resolve(becomes(depositAddress.toLowerCase(), amount).inTxHashes[0]);
      },
      // Simulates a slow chain: Relay reports the result before the chain confirms the transaction.
      handleConfirmTransactionStep: () => new Promise(() => {}),
    });

    it.each(PLACES)(
      'asks for the same, reads the same answer and sees the same end: from %s in %s',
      async (network, currency, chain) => {
        const client = createClient({
          baseApiUrl: relay.url,
          source: 'market',
          chains: [convertViemChainToRelayChain(chain)],
          pollingInterval: 20,
        });
        const terms = termsOf(network, currency);
        const before = relay.asked.length;
        const quote = await quoteByClient(client, terms);
        const offer = readQuote(quote, terms);
        const twin = readQuote(await apiOf().quote(quoteRequest(terms), BUYER), terms);
        const [byClient, byAdapter] = [offer, twin].map(({ relayRequestId }) => relay.requests.get(relayRequestId)!);
        expect([byClient!.quote, byClient!.apiKey]).toEqual([byAdapter!.quote, byAdapter!.apiKey]);
        expect(offer).toEqual({
          relayRequestId: byClient!.requestId,
          depositAddress: byClient!.depositAddress,
          amountBaseUnits: byClient!.amountIn,
        });
        expect(offer.amountBaseUnits).toBe(twin.amountBaseUnits);

        const { data } = await client.actions.execute({
          quote,
          wallet: walletOf(terms.from.chainId, (to, amount) => (relay.fill(relay.deposit(to, amount)), relay.of(to))),
        });
        const seen = readStatus(await apiOf().status(offer.relayRequestId, BUYER), terms.from.chainId);
        expect(data.steps[0]!.items[0]).toMatchObject({
          status: 'complete',
          checkStatus: seen.status,
          txHashes: seen.txHashes!.map((txHash) => ({ txHash, chainId: terms.to.chainId })),
        });
        expect(observationOf(seen, offer.amountBaseUnits, false)).toMatchObject({
          receivedBaseUnits: offer.amountBaseUnits,
          transactionHash: byClient!.txHashes[0],
        });
        expect(['POST /quote/v2', 'POST /transactions/index', 'GET /intents/status/v3']).toEqual(
          expect.arrayContaining(relay.asked.slice(before)),
        );
      },
    );

    it('sees the same refund of too little', async () => {
      const client = createClient({
        baseApiUrl: relay.url,
        source: 'market',
        chains: [convertViemChainToRelayChain(arbitrum)],
        pollingInterval: 20,
      });
      const terms = termsOf('eip155:42161', 'ETH');
      const quote = await quoteByClient(client, terms);
      const paid = client.actions.execute({
        quote,
        wallet: walletOf(terms.from.chainId, (to, amount) => relay.deposit(to, amount - 1n)),
      });
      await expect(paid).rejects.toThrow('Refunded');
      const { relayRequestId, amountBaseUnits } = readQuote(quote, terms);
      expect(
        observationOf(
          readStatus(await apiOf().status(relayRequestId, BUYER), terms.from.chainId),
          amountBaseUnits,
          false,
        ),
      ).toMatchObject({ failed: true, isClosed: true });
    });
  });

  it.each<[string, RelayServer['misbehave']]>([
    ['hangs up', () => 'hang-up'],
    ['fails', () => ({ status: 502, body: '<html>' })],
    ['fails with a code', () => ({ status: 500, body: '{"errorCode":"AMOUNT_TOO_LOW"}' })],
    ['refuses without a code', () => ({ status: 400, body: '{"message":"no"}' })],
    ['refuses with a code that is none', () => ({ status: 400, body: '{"errorCode":"<script>"}' })],
    ['sends elsewhere', () => ({ status: 302, body: '', headers: { location: 'http://127.0.0.1:1/' } })],
    ['answers no JSON', () => ({ status: 200, body: '{"steps":' })],
    ['answers without end', () => ({ status: 200, body: JSON.stringify('x'.repeat(300_000)) })],
  ])('knows nothing where Relay %s, and gives the key away to nobody', async (_name, misbehave) => {
    relay.misbehave = misbehave;
    for (const outcome of [
      await failureOf(apiOf().quote(QUOTE, BUYER)),
      await failureOf(apiOf().status(`0x${'0'.repeat(64)}`, BUYER)),
    ]) {
      expect(outcome).toBeInstanceOf(RelayUnavailable);
      expect((outcome as RelayUnavailable).retryAfterSeconds).toBe(2);
      expect(`${String((outcome as Error).stack)}${JSON.stringify(outcome)}`).not.toContain(relay.apiKey);
    }
  });
});
