import {
  evmWallet,
  Marketplace,
  MarketplaceError,
  sandboxPayer,
  x402Payer,
  type Listing,
  type Offer,
  type Receipt,
  type StreamResult,
} from '@market/sdk';

/** Buys a listing as an agent with a key and as a wallet without one. @returns the answers and charges of both. */
export async function buy(baseUrl: string, slug: string): Promise<string> {
  const wallet = evmWallet();
  const { marketplace } = await new Marketplace({ baseUrl }).register(evmWallet(), { displayName: 'A buyer' });
  const listing: Listing = await marketplace.listings.get(slug);
  const offer: Offer | undefined = await marketplace.call(listing, { text: 'what does it cost?' }).then(
    () => undefined,
    (error: unknown) => (error instanceof MarketplaceError ? error.payment : undefined),
  );
  const body = { text: 'to be or not to be' };
  const paid = await marketplace.call<{ words: number }>(listing, body, {
    pay: sandboxPayer(marketplace),
    maxPriceUsd: offer?.fees?.gross_amount,
  });
  const signed = await new Marketplace({ baseUrl }).call<{ words: number }>(listing, body, {
    pay: x402Payer(wallet, { 'eip155:84532': {} }),
    maxPriceUsd: '0.25',
  });
  const receipts: Receipt[] = (await marketplace.receipts.list()).data;
  const stream = await marketplace.stream<{ word: string }>(
    listing,
    { ...body, aloud: true },
    { pay: sandboxPayer(marketplace) },
  );
  const heard: string[] = [];
  for await (const { data } of stream) heard.push(data.word);
  const { billable }: StreamResult = await stream.result();
  return JSON.stringify([
    paid.seller_response.words,
    receipts.map(({ gross_amount }) => gross_amount),
    signed.seller_response.words,
    signed.settlement?.payer === wallet.address.toLowerCase(),
    heard.join(' '),
    billable,
  ]);
}
