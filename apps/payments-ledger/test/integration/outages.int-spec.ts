import { handleRelayWebhook, openKeylessPayment, quoteKeyless } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { newRequestContext, type Refusal } from '@market/messaging';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { newOrder, startLedger, type Offered } from '../support/ledger-harness.js';
import { BY_ETH, BY_SOL, startRelayLedger } from '../support/relay-ledger.js';
import { signed } from '../support/signed-payload.js';
import { ON_CHAIN, OPERATOR } from '../support/x402-ledger.js';
import { FAULTS, startFaultyServers } from '../support/faulty-servers.js';

/** The external parties: the facilitator, the RPC server of a chain, and Relay, which is also asked after a webhook. */
describe.each(FAULTS)('a party that %s', (fault) => {
  let parties: Awaited<ReturnType<typeof startFaultyServers>>;
  beforeAll(async () => {
    parties = await startFaultyServers();
  });
  afterAll(() => parties.stop());

  /** Expects a refusal that reports a temporary outage, in much less than the longest time of a request. */
  const isOutage = async (outcome: Promise<unknown>): Promise<void> => {
    const begun = Date.now();
    const refusal = (await outcome.catch((error: unknown) => error)) as Refusal;
    expect(refusal).toMatchObject({
      declaration: { kind: 'unavailable' },
      details: { retry_after_seconds: expect.any(Number) as number },
    });
    expect(Date.now() - begun).toBeLessThan(12_000);
  };

  it.each(['facilitator', 'RPC server'])(
    'as %s leaves a signed payment as it was, with a key and without',
    async (party) => {
      const url = parties.urlOf(fault);
      const harness = await startLedger({
        env: {
          PAYMENTS_LEDGER_X402_USDC: `eip155:31337=${OPERATOR}`,
          PAYMENTS_LEDGER_X402_RPC_TIMEOUT_MS: '500',
          PAYMENTS_LEDGER_FEE_ADDRESS: OPERATOR,
          ...(party === 'facilitator'
            ? {
                PAYMENTS_LEDGER_X402_CHAINS: 'eip155:31337',
                PAYMENTS_LEDGER_X402_EIP712: 'eip155:31337=USDC:2',
                PAYMENTS_LEDGER_X402_FACILITATOR_URL: url,
              }
            : {
                PAYMENTS_LEDGER_X402_CHAINS: `eip155:31337=${url}`,
                PAYMENTS_LEDGER_X402_EIP712: 'eip155:31337=USDC:2',
                PAYMENTS_LEDGER_X402_FACILITATOR_KEY: generatePrivateKey(),
              }),
        },
      });
      const payer = privateKeyToAccount(generatePrivateKey());
      const order = newOrder();
      const { listing, priceMicros, bodyDigest } = order;
      const offered = await harness.quote(order, ON_CHAIN);
      await isOutage(harness.authorize(order, offered, { authorization: await signed(offered, payer) }));
      const { offers } = await harness.gateway.request(quoteKeyless, { listing, priceMicros }, newRequestContext());
      const authorization = await signed(
        { offer: offers.find(({ provider }) => provider === 'x402')! } as unknown as Offered,
        payer,
      );
      await isOutage(
        harness.gateway.request(
          openKeylessPayment,
          {
            gatewayRequestId: newId(),
            listing,
            bodyDigest,
            callMs: 60_000,
            authorization,
            mayOpen: true,
          },
          newRequestContext(),
        ),
      );
      expect(
        await harness.db.inspect(
          `SELECT state, authorization_id, (SELECT count(*)::int FROM payments_ledger.authorizations) AS held
           FROM payments_ledger.offers`,
        ),
      ).toEqual([{ state: 'pending', authorization_id: null, held: 0 }]);
      expect(await harness.db.inspect('SELECT FROM payments_ledger.payments')).toEqual([]);
      expect(await harness.authorize(order, offered)).toEqual({ outcome: 'unpaid', offer: offered.offer });
      await harness.stop();
    },
  );

  it('as Relay is left for another rail where there is one, and else makes no offer', async () => {
    const harness = await startRelayLedger({ env: { PAYMENTS_LEDGER_RELAY_URL: parties.urlOf(fault) } });
    const order = await harness.order();
    await isOutage(harness.ledger.quote(order, BY_ETH));
    await harness.addWallet(order.buyer, 'solana');
    expect((await harness.ledger.quote(order, BY_SOL)).offer).toMatchObject({
      provider: 'sandbox',
      requirements: { currency: 'SOL' },
    });
    // Neither an expired offer nor an offer named by a webhook changes its state without an answer of Relay.
    await harness.ledger.db.inspect(
      `UPDATE payments_ledger.payments
       SET rail = 'relay', network = 'eip155:8453', currency = 'ETH', relay_request_id = $1,
         expires_at = now() - interval '1 hour', offer_key = 'x'`,
      [`0x${'ab'.repeat(32)}`],
    );
    await isOutage(
      harness.ledger.edge.request(
        handleRelayWebhook,
        harness.relay.webhook({ requestId: `0x${'ab'.repeat(32)}`, status: 'success' } as never),
        newRequestContext(),
      ),
    );
    expect(await harness.ledger.db.inspect('SELECT DISTINCT state FROM payments_ledger.payments')).toEqual([
      { state: 'pending' },
    ]);
    await harness.stop();
  });
});
