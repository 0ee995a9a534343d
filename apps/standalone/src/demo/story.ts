import { evmWallet, formatUsd, Marketplace, MarketplaceError, sandboxPayer, solanaWallet } from '@market/sdk';
import type { CallResult, CreatedListing, LedgerEntry, PaymentOffer, Wallet } from '@market/sdk';
import { Books } from './books.js';
import type { RunningMarketplace } from './marketplace-process.js';
import type { Transcript } from './transcript.js';
import { WireTap, type Exchange } from './wire-tap.js';
import { WordDesk, type WordCount } from './word-desk.js';

const PRICE_USD = 0.25;
const QUESTION = { text: 'The quick brown fox jumps over the lazy dog' };
const SECOND_QUESTION = { text: 'Pack my box with five dozen liquor jugs' };

interface Stage {
  transcript: Transcript;
  wire: WireTap;
  desk: WordDesk;
}

interface Trade extends Stage {
  buyer: Marketplace;
  seller: Marketplace;
  listing: CreatedListing;
  books: Books;
}

/** @throws BrokenPromise or MarketplaceError at the first thing that is not as promised. */
export async function tellStory(
  running: RunningMarketplace,
  transcript: Transcript,
  { signal, sellerHost }: { signal: AbortSignal; sellerHost?: string },
): Promise<void> {
  const started = performance.now();
  const stage = { transcript, wire: new WireTap(), desk: new WordDesk() };
  const visitor = new Marketplace({ baseUrl: running.baseUrl, fetch: stage.wire.fetch, signal });
  try {
    const { version, mode } = await visitor.health();
    if (mode?.payments === 'live') throw new Error('This marketplace takes real money; the demo pays with play money only.');
    transcript.heading('One paid call, from two wallets to balanced books', [
      `${visitor.baseUrl}, interface ${version}, play money`,
      running.description,
    ]);

    const [ada, otto] = [evmWallet(), solanaWallet()];
    const [buyer, seller] = await registerBoth(stage, visitor, ada, otto);
    const listing = await openShop(stage, seller, sellerHost);
    await findShop(stage, buyer, listing);
    const trade = { ...stage, buyer, seller, listing, books: new Books(buyer, seller, listing) };
    const offer = await askForPrice(trade);
    const paid = await payAndCall(trade, offer);
    await repeatForFree(trade, paid);
    await readTheBooks(trade, offer);
    await surviveFailingSeller(trade);
    await refuseWhatMustNotWork(trade, offer);
    await closeShop(trade);
  } finally {
    await stage.desk.close();
  }
  const seconds = (Math.round(performance.now() - started) / 1000).toFixed(1);
  transcript.heading(`${transcript.promisesKept} promises kept in ${seconds} s.\n`, []);
}

async function registerBoth(
  { transcript, wire }: Stage,
  visitor: Marketplace,
  ada: Wallet,
  otto: Wallet,
): Promise<[buyer: Marketplace, seller: Marketplace]> {
  transcript.step('Two agents, known by their wallets');
  transcript.table([
    ['Ada buys', ada.chainType, ada.address],
    ['Otto sells', otto.chainType, otto.address],
  ]);

  transcript.step('They register: a signature and a proof of work, no password');
  wire.take();
  const register = async (wallet: Wallet, displayName: string, tell: (exchange: Exchange) => void): Promise<Marketplace> => {
    const { marketplace, registration } = await visitor.register(wallet, { displayName });
    const [challenge, registered] = wire.take();
    if (challenge) transcript.brief(challenge);
    if (registered) tell(registered);
    const profile = await marketplace.me();
    wire.take();
    transcript.promise(
      `The key ${registration.api_key} speaks for ${displayName} and the wallet that signed`,
      profile.wallet_address.toLowerCase() === wallet.address.toLowerCase() && profile.display_name === displayName,
      profile,
    );
    return marketplace;
  };
  return [
    await register(ada, 'Ada', (exchange) => transcript.full(exchange)),
    await register(otto, 'Otto', (exchange) => transcript.brief(exchange)),
  ];
}

async function openShop({ transcript, wire, desk }: Stage, seller: Marketplace, sellerHost?: string): Promise<CreatedListing> {
  transcript.step('Otto opens a desk that counts words, behind a private address');
  const address = await desk.open(sellerHost);
  const listing = await seller.listings.create({
    name: `Word desk at ${new URL(address).port}`,
    description: 'Counts the words of a text and finds the longest one.',
    pricing_model: 'per_call',
    pricing_amount: PRICE_USD,
    tags: ['text', 'demo'],
    private_endpoint_url: address,
  });
  wire.take().forEach((exchange) => transcript.brief(exchange));
  transcript.table([
    ['listing', listing.name],
    ['id', listing.id],
    ['price', `${formatUsd(listing.pricing_amount)} a call`],
    ['private address', address],
    ['signing secret', listing.gateway_signing_secret ?? 'none'],
  ]);
  transcript.promise('The signing secret is shown once, to its owner', listing.gateway_signing_secret?.startsWith('whsec_') === true);
  desk.trust(listing.gateway_signing_secret ?? '');

  const test = await seller.endpoint.test(listing);
  wire.take().forEach((exchange) => transcript.brief(exchange));
  transcript.promise('A signed test call reaches the desk and is understood', test.success, test);
  return listing;
}

async function findShop({ transcript, wire, desk }: Stage, buyer: Marketplace, listing: CreatedListing): Promise<void> {
  transcript.step('Ada looks for somebody who counts words');
  const found = await buyer.listings.search({ q: listing.name, pricing_model: 'per_call', max_price: PRICE_USD });
  const detail = await buyer.listings.get(listing.slug);
  const exchanges = wire.take();
  exchanges.forEach((exchange) => transcript.brief(exchange));
  transcript.table([['name', detail.name], ['sold by', detail.provider.display_name], ['call at', detail.gateway_url ?? 'nowhere']]);
  transcript.promise('A search finds the listing at once', found.data.some(({ id }) => id === listing.id), found);
  transcript.promise(
    'No public answer shows the private address',
    exchanges.every(({ responseBody }) => !responseBody.includes(desk.address)),
  );
}

async function askForPrice({ transcript, wire, desk, buyer, listing }: Trade): Promise<PaymentOffer> {
  transcript.step('Ada calls without paying, and learns what it costs');
  const refusal = await refusalOf(buyer.call(listing, QUESTION));
  wire.take().forEach((exchange) => transcript.full(exchange));
  const offer = refusal?.payment;
  if (refusal?.status !== 402 || !offer) throw refusal ?? new Error('A call that was not paid for was answered.');
  const { requirements, fees } = offer;
  transcript.promise(
    `402: ${requirements.amount} ${requirements.currency}, good until ${requirements.expiresAt}`,
    requirements.relayRequestId === offer.relay_request_id,
    offer,
  );
  transcript.promise(
    `The price is the listed ${formatUsd(PRICE_USD)}, the fee in it ${formatUsd(fees?.fee_amount ?? 0)}, for Otto ${formatUsd(fees?.provider_receives ?? 0)}`,
    fees?.gross_amount === PRICE_USD && fees.fee_amount === 0.0125 && fees.provider_receives === 0.2375,
    fees,
  );
  transcript.promise('The seller was not bothered', desk.questions === 0, desk.questions);
  return offer;
}

async function payAndCall({ transcript, wire, desk, buyer, listing }: Trade, offer: PaymentOffer): Promise<CallResult<WordCount>> {
  transcript.step('Ada pays and repeats the call');
  const result = await buyer.call<WordCount>(listing, QUESTION, { pay: sandboxPayer(buyer), maxPriceUsd: '0.25' });
  const [quote, payment, ...calls] = wire.take();
  if (quote) transcript.brief(quote);
  for (const exchange of [payment, ...calls]) if (exchange) transcript.full(exchange);
  transcript.promise('Asking again gave the same offer', result.relayRequestId === offer.relay_request_id, result.relayRequestId);
  const { words, longest } = result.seller_response;
  transcript.promise('The answer is the seller’s', words === 9 && longest === 'quick', result);
  transcript.promise(
    'Charged is the price, and fee and credit add up to it',
    result.billable &&
      result.charged_amount.amount_cents === 25 &&
      result.fees.fee_amount_cents === 1.25 &&
      result.fees.seller_receives_cents === 23.75,
    result,
  );
  transcript.promise('The seller was called once', desk.questions === 1, desk.questions);
  return result;
}

async function repeatForFree(trade: Trade, paid: CallResult<WordCount>): Promise<void> {
  const { transcript, wire, desk, buyer, listing, books } = trade;
  transcript.step('The connection might have broken, so Ada repeats the paid call');
  const before = await books.paymentsOfBuyer();
  wire.take();
  const again = await buyer.call(listing, QUESTION, { relayRequestId: paid.relayRequestId ?? '' });
  wire.take().forEach((exchange) => transcript.brief(exchange));
  const after = await books.paymentsOfBuyer();
  transcript.promise('The answer is the same, byte for byte', again.rawBody === paid.rawBody, { again, paid });
  transcript.promise('Nobody is charged and the seller is not called', after.length === before.length && desk.questions === 1, after);
}

async function readTheBooks({ transcript, books }: Trade, offer: PaymentOffer): Promise<void> {
  transcript.step('Both hold a receipt');
  const receipts = await books.receipts();
  transcript.table(receipts.rows, receipts.layout);
  transcript.promise(
    'Both receipts say the same and name the payment',
    receipts.buyer.payment_id === receipts.seller.payment_id &&
      [receipts.buyer, receipts.seller].every(
        (receipt) =>
          receipt.relay_request_id === offer.relay_request_id &&
          receipt.gross_amount === PRICE_USD &&
          receipt.fee_amount === 0.0125,
      ),
    receipts,
  );

  transcript.step('Both ledgers tell it');
  const ledgers = await books.ledgers();
  transcript.table(ledgers.rows, ledgers.layout);
  const postings = (entries: LedgerEntry[]): string =>
    entries.map(({ type, direction, amount_cents }) => `${type} ${direction} ${amount_cents}`).join(', ');
  transcript.promise('Ada paid the price, once', postings(ledgers.buyer) === 'direct_payment debit 25', ledgers.buyer);
  transcript.promise(
    'Otto was credited the price and debited the fee, once; the net of his receipt is what he has',
    postings(ledgers.seller) === 'seller_credit credit 25, marketplace_fee debit 1.25' &&
      ledgers.seller.at(-1)?.balance_after_cents === 23.75 &&
      receipts.seller.net_amount === 0.2375,
    ledgers.seller,
  );
}

async function surviveFailingSeller({ transcript, wire, desk, buyer, listing, books }: Trade): Promise<void> {
  transcript.step('Otto’s desk fails on the next call');
  desk.isDown = true;
  wire.take();
  const failed = await buyer.call(listing, SECOND_QUESTION, { pay: sandboxPayer(buyer) });
  const [quote, payment, ...calls] = wire.take();
  for (const exchange of [quote, payment]) if (exchange) transcript.brief(exchange);
  calls.forEach((exchange) => transcript.full(exchange));
  transcript.promise('What was not delivered is not charged', !failed.billable && failed.charged_amount.amount_cents === 0, failed);
  transcript.promise('The books do not move', (await books.paymentsOfBuyer()).length === 1);

  transcript.step('The desk is back, and the same payment is good for the same call');
  desk.isDown = false;
  wire.take();
  const delivered = await buyer.call<WordCount>(listing, SECOND_QUESTION, { relayRequestId: failed.relayRequestId ?? '' });
  wire.take().forEach((exchange) => transcript.brief(exchange));
  const { words, longest } = delivered.seller_response;
  transcript.promise(`Now it is answered: ${words} words, the longest “${longest}”`, delivered.billable && words === 8, delivered);
  transcript.promise('It is charged once, without paying again', (await books.paymentsOfBuyer()).length === 2 && desk.questions === 3);
}

async function refuseWhatMustNotWork(trade: Trade, offer: PaymentOffer): Promise<void> {
  const { transcript, wire, desk, buyer, seller, listing, books } = trade;
  transcript.step('What must not work');
  const questions = desk.questions;

  const forged = await fetch(`http://${desk.address}`, { method: 'POST', body: JSON.stringify(QUESTION) });
  transcript.promise('Calling Otto’s desk directly: 401, it takes signed calls only', forged.status === 401, forged.status);

  const otherQuestion = buyer.call(listing, { text: 'something else' }, { relayRequestId: offer.relay_request_id });
  const mismatch = await refusalOf(otherQuestion);
  transcript.promise(
    'Another question on a payment already made: 409, request_body_mismatch',
    mismatch?.status === 409 && mismatch.details?.['reason'] === 'request_body_mismatch',
    mismatch,
  );

  const tooDear = await refusalOf(
    buyer.call(listing, { text: 'cheaper?' }, { pay: sandboxPayer(buyer), maxPriceUsd: '0.249999' }),
  );
  transcript.promise('A price above Ada’s limit: refused on her side, nothing paid', tooDear?.code === 'PRICE_ABOVE_LIMIT', tooDear);

  const { buyer: receipt } = await books.receipts();
  const foreign = await refusalOf(seller.receipts.get(receipt));
  transcript.promise('Otto reading Ada’s receipt: 404, as if it did not exist', foreign?.status === 404, foreign);

  const payments = await books.paymentsOfBuyer();
  transcript.promise('None of this reached the seller or the books', desk.questions === questions && payments.length === 2, payments);
  wire.take();
}

async function closeShop({ transcript, wire, seller, buyer, listing }: Trade): Promise<void> {
  transcript.step('Otto closes');
  const removed = await seller.listings.remove(listing);
  const hidden = await refusalOf(buyer.listings.get(listing));
  wire.take().forEach((exchange) => transcript.brief(exchange));
  transcript.promise(
    'The listing is suspended and hidden; its history stays',
    !removed.deleted && removed.status === 'suspended' && hidden?.status === 404,
    removed,
  );
}

/** What the marketplace answers to something it must refuse; undefined when it does not. */
async function refusalOf(attempt: Promise<unknown>): Promise<MarketplaceError | undefined> {
  return attempt.then(
    () => undefined,
    (error: unknown) => (error instanceof MarketplaceError ? error : Promise.reject(error)),
  );
}
