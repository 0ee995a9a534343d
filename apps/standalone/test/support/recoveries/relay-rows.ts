import { evmWallet, solanaWallet } from '@market/sdk';
import { withClient } from '@market/testing';
import type { RelayServer } from '../../../../payments-ledger/test/support/relay-server.js';
import { perCall } from '../listings.js';
import type { Agent } from '../harness.js';
import type { Rows, Sent, World } from './walk.js';

/** Sellers are called at public addresses alone; none is called here. */
const SALE = perCall({ private_endpoint_url: 'https://1.1.1.1/call' });
export const RELAY_ROUTES = 'eip155:8453:ETH,solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:SOL';
export const OPEN_OFFERS = 2;
const BY_ETH = { 'X-Market-Origin-Chain-Id': 'eip155:8453', 'X-Market-Origin-Currency': 'ETH' };
const BY_SOL = { 'X-Market-Origin-Currency': 'SOL' };

const calling = async (world: World, headers: Record<string, string>): Promise<{ buyer: Agent; request: Sent }> => {
  const [seller, buyer] = [await world.agent(), await world.agent()];
  const { id } = await seller.market.listings.create(SALE);
  return {
    buyer,
    request: { by: buyer.market, method: 'POST', path: `/gateway/${id}`, body: { n: 1 }, headers },
  };
};

/** The recoveries of a marketplace that takes real money, by Relay alone. */
export const relayRows = (relay: () => RelayServer): Rows => ({
  async 'keyless_payment_unavailable register'(world) {
    const { request } = await calling(world, BY_ETH);
    return {
      request: { ...request, by: world.anyone, path: request.path.replace('gateway', 'x402') },
      follow: async () => ({ by: (await world.agent()).market, path: request.path }),
    };
  },
  async 'too_many_open_offers retry_after_delay'(world) {
    const { buyer, request } = await calling(world, BY_ETH);
    for (let n = 0; n < OPEN_OFFERS; n += 1)
      expect((await buyer.market.send('POST', request.path, { ...request, body: { offer: n } })).status).toBe(402);
    return {
      request,
      // As if the time of an offer had passed.
      follow: () =>
        withClient(world.harness.databaseUrl, (client) =>
          client.query('UPDATE payments_ledger.payments SET expires_at = now() WHERE buyer_id = $1', [buyer.id]),
        ).then(() => undefined),
    };
  },
  async 'payer_wallet_required link_wallet'(world) {
    const { buyer, request } = await calling(world, BY_SOL);
    return {
      request,
      follow: () => buyer.market.wallets.link(buyer.wallet, solanaWallet()).then(() => undefined),
    };
  },
  async 'payment_provider_unavailable retry_after_delay'(world) {
    relay().misbehave = () => ({ status: 429, body: '{}', headers: { 'retry-after': '1' } });
    return {
      ...(await calling(world, BY_ETH)),
      follow: () => void (relay().misbehave = null),
    };
  },
  async 'payment_provider_refused choose_another_payment_route'(world) {
    relay().misbehave = () => ({
      status: 400,
      body: JSON.stringify({ errorCode: 'SANCTIONED_WALLET_ADDRESS', message: 'not served' }),
    });
    const { buyer, request } = await calling(world, BY_ETH);
    return {
      request,
      async follow() {
        relay().misbehave = null;
        const { id } = await buyer.market.wallets.link(buyer.wallet, evmWallet());
        return { headers: { 'X-Market-Origin-Wallet-Id': id } };
      },
    };
  },
});
