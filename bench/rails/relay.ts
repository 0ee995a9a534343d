import { newCall, type MessageBus } from '@market/messaging';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { paymentsLedgerConfig } from '../../apps/payments-ledger/src/config.js';
import { RelayRail } from '../../apps/payments-ledger/src/rails/relay/relay.rail.js';
import { startRelayServer } from '../../apps/payments-ledger/test/support/relay-server.js';
import { compare, type Compared } from './compare.js';
import { draftOf, observeExactly, PRICE_IN_WEI, watchedOffer } from './watched-offer.js';

const OFTEN = 10_000_000;

/** Relay's two requests, answered by the tests' server in this process; wallets come from no bus, so a quote is without that hop. */
export async function compareRelay(times: number): Promise<Compared[]> {
  const relay = await startRelayServer();
  try {
    const { relayDestination: destination, relayRoutes: routes, relayReferrer: referrer, relayMaxCostMicros } = paymentsLedgerConfig.parse({}, []);
    const wallets = { payer: privateKeyToAddress(generatePrivateKey()), payout: privateKeyToAddress(generatePrivateKey()) };
    const bus = { request: () => Promise.resolve(wallets) } as unknown as Pick<MessageBus, 'request'>;
    const rail = new RelayRail(
      { url: relay.url, apiKey: relay.apiKey, timeoutMs: 5_000, quotesPerMinute: OFTEN, statusesPerMinute: OFTEN, routes, destination, feeRecipient: wallets.payout, referrer, ttlSeconds: 900, mostCostMicros: BigInt(relayMaxCostMicros) },
      bus,
    );
    const offer = await watchedOffer(rail, 'ETH', PRICE_IN_WEI);
    const request = relay.of(offer.depositAddress);
    relay.fill(relay.deposit(offer.depositAddress));
    const ask = async (path: string, init: { method?: string; body?: string } = {}): Promise<unknown> =>
      (await fetch(`${relay.url}${path}`, { ...init, headers: { 'x-api-key': relay.apiKey, 'content-type': 'application/json' } })).json();
    return [
      await compare(times, 'Relay: open', 'POST /quote/v2', () => ask('/quote/v2', { method: 'POST', body: JSON.stringify(request.quote) }), async () => rail.open(draftOf(rail, 'ETH', PRICE_IN_WEI), newCall())),
      await compare(times, 'Relay, delivered: observe', 'GET /intents/status/v3', () => ask(`/intents/status/v3?requestId=${request.requestId}`), () => observeExactly(rail, offer, offer.amountBaseUnits)),
    ];
  } finally {
    relay.stop();
  }
}
