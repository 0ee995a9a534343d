import { Marketplace, evmWallet, type CreatedListing } from '@market/sdk';
import { reply, sellerServer, type SellerServer } from '@market/sdk/seller';

/** Opens a shop that counts words. */
export async function sell(baseUrl: string): Promise<{ listing: CreatedListing; server: SellerServer }> {
  const secrets: string[] = [];
  const server = await sellerServer<{ text?: unknown }>(
    ({ body: { text } }) =>
      typeof text === 'string' ? { words: text.split(' ').length } : reply(422, { missing: 'text' }),
    { secret: () => secrets },
  );
  const { marketplace } = await new Marketplace({ baseUrl }).register(evmWallet(), { displayName: 'A seller' });
  const listing = await marketplace.listings.create({
    name: 'Word count',
    description: 'Counts the words of a text.',
    pricing_model: 'per_call',
    pricing_amount: 0.25,
    private_endpoint_url: server.url,
  });
  secrets.push(listing.gateway_signing_secret!);
  return { listing, server };
}
