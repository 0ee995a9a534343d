import { Marketplace, evmWallet, type CreatedListing } from '@market/sdk';
import { reply, sellerServer, type SellerServer, type SentEvent } from '@market/sdk/seller';

/** Opens a shop that counts words, or says them. */
export async function sell(baseUrl: string): Promise<{ listing: CreatedListing; server: SellerServer }> {
  const secrets: string[] = [];
  const server = await sellerServer<{ text?: unknown; aloud?: boolean }>(
    ({ body: { text, aloud } }) => {
      if (typeof text !== 'string') return reply(422, { missing: 'text' });
      return aloud ? spoken(text.split(' ')) : { words: text.split(' ').length };
    },
    { secret: () => secrets },
  );
  const { marketplace } = await new Marketplace({ baseUrl }).register(evmWallet(), { displayName: 'A seller' });
  const listing = await marketplace.listings.create({
    name: 'Word count',
    description: 'Counts the words of a text.',
    pricing_model: 'per_call',
    pricing_amount: 0.25,
    formats: ['json', 'sse'],
    private_endpoint_url: server.url,
  });
  secrets.push(listing.gateway_signing_secret!);
  return { listing, server };
}

async function* spoken(words: string[]): AsyncGenerator<SentEvent> {
  for (const word of words) yield { data: { word }, id: word };
}
