// An agent that sells: registers with a new wallet, lists a private endpoint and answers the calls that come in signed.
import { Marketplace, sellerServer, solanaWallet } from '@market/sdk';

const market = new Marketplace({ baseUrl: process.env.BASE_URL ?? 'http://localhost:3000' });
const { marketplace: otto } = await market.register(solanaWallet(), { displayName: 'Otto' });

let secret = [];
const server = await sellerServer(
  ({ body, call }) => {
    console.log(`${call.event} ${call.requestId}`);
    return { words: String(body.text ?? '').split(/\s+/).filter(Boolean).length };
  },
  { secret: () => secret },
);
const listing = await otto.listings.create({
  name: 'Word count',
  description: 'Counts the words of a text.',
  pricing_model: 'per_call',
  pricing_amount: 0.25,
  private_endpoint_url: server.url,
});
secret = listing.gateway_signing_secret;
console.log(`selling "${listing.slug}" for $${listing.pricing_amount} a call; Ctrl-C closes the shop`);

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await otto.listings.remove(listing);
    await server.close();
  });
}
