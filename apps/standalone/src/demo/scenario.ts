import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  evmWallet,
  formatCents,
  formatUsd,
  Marketplace,
  MarketplaceError,
  sandboxPayer,
  type CallResult,
  type CreatedListing,
  type FileAnswer,
  type LedgerEntry,
  type Wallet,
} from '@market/sdk';
import { file, job, reply, sellerServer, type JobProgress } from '@market/sdk/seller';
import type { Transcript } from './transcript.js';

const PRICE_USD = 0.25;
const QUESTION = { text: 'The quick brown fox jumps over the lazy dog' };
const LIST_OF_WORDS = { ...QUESTION, as: 'csv' };
const READ_ALOUD = { ...QUESTION, as: 'speech' };
const BOOK = { ...QUESTION, as: 'book' };
const SECOND_QUESTION = { text: 'Pack my box with five dozen liquor jugs' };

interface Scenario {
  transcript: Transcript;
  desk: { url: string; isDown: boolean; calls: number; heard: number; secret: string };
  buyer: Marketplace;
  seller: Marketplace;
  listing: CreatedListing;
}

/** @throws BrokenPromise or MarketplaceError at the first answer that is not as documented. */
export async function runScenario(baseUrl: string, transcript: Transcript, signal: AbortSignal): Promise<void> {
  const visitor = new Marketplace({ baseUrl, fetch: transcript.fetch, signal });
  const desk = { url: '', isDown: false, calls: 0, heard: 0, secret: '' };
  const server = await sellerServer<typeof QUESTION & { as?: string }>(
    ({ body, call, signal }) => {
      if (call.event === 'endpoint.test') return { ready: true };
      desk.calls += 1;
      if (desk.isDown) return reply(503, { error: 'the desk is closed' });
      const words = body.text.split(' ');
      if (body.as === 'csv')
        return file(Buffer.from(words.map((word) => `${word},${word.length}\n`).join('')), 'text/csv');
      if (body.as === 'speech') return spoken(words, desk, signal);
      if (body.as === 'book') return job(({ progress }) => printed(words, desk, progress));
      return { words: words.length };
    },
    { secret: () => desk.secret || [] },
  );
  desk.url = server.url;
  try {
    const { mode } = await visitor.health();
    if (mode.payments === 'live')
      throw new Error('This marketplace takes real money; the demo pays with play money only.');
    transcript.step('Two agents register: a signature of their wallet and a proof of work, no password', {
      isDetailed: true,
    });
    const buyer = await registered(visitor, transcript, evmWallet(), 'Ada');
    const seller = await registered(visitor, transcript, evmWallet(), 'Otto');
    const listing = await openShop(transcript, desk, seller);
    const scenario = { transcript, desk, buyer, seller, listing };
    await findShop(scenario);
    const paid = await buyOnce(scenario);
    await readTheBooks(scenario, paid);
    await surviveFailingSeller(scenario);
    await refuseWhatMustNotWork(scenario, paid);
    await buyFile(scenario);
    await listen(scenario);
    await orderBook(scenario);
    await closeShop(scenario);
  } finally {
    await server.close();
  }
  transcript.table([[], [`${transcript.promisesKept} promises kept.`]]);
}

async function registered(
  visitor: Marketplace,
  transcript: Transcript,
  wallet: Wallet,
  displayName: string,
): Promise<Marketplace> {
  const { marketplace, registration } = await visitor.register(wallet, { displayName });
  const profile = await marketplace.me();
  transcript.promise(
    `The key ${registration.api_key} speaks for ${displayName} and the wallet that signed`,
    profile.wallet_address.toLowerCase() === wallet.address.toLowerCase() && profile.display_name === displayName,
    profile,
  );
  return marketplace;
}

async function openShop(transcript: Transcript, desk: Scenario['desk'], seller: Marketplace): Promise<CreatedListing> {
  transcript.step('Otto opens a desk that counts words, behind a private address');
  const listing = await seller.listings.create({
    name: `Word desk at ${new URL(desk.url).port}`,
    description: 'Counts the words of a text.',
    pricing_model: 'per_call',
    pricing_amount: PRICE_USD,
    tags: ['text', 'demo'],
    formats: ['json', 'csv', 'sse'],
    private_endpoint_url: desk.url,
  });
  desk.secret = listing.gateway_signing_secret ?? '';
  transcript.table([
    ['listing', listing.name],
    ['price', `${formatUsd(listing.pricing_amount)} a call`],
    ['private address', desk.url],
    ['signing secret', desk.secret],
  ]);
  transcript.promise('The signing secret is shown once, to its owner', desk.secret.startsWith('whsec_'));
  const test = await seller.endpoint.test(listing);
  transcript.promise('A signed test call reaches the desk and is understood', test.success, test);
  return listing;
}

async function findShop({ transcript, desk, buyer, listing }: Scenario): Promise<void> {
  transcript.step('Ada looks for somebody who counts words');
  const found = await buyer.listings.search({ q: listing.name, pricing_model: 'per_call', max_price: PRICE_USD });
  const detail = await buyer.listings.get(listing.slug);
  transcript.table([
    ['sold by', detail.provider.display_name],
    ['call at', detail.gateway_url ?? 'nowhere'],
  ]);
  transcript.promise(
    'A search finds the listing at once',
    found.data.some(({ id }) => id === listing.id),
    found,
  );
  const isPrivate = !JSON.stringify([found, detail]).includes(new URL(desk.url).host);
  transcript.promise('No public answer shows the private address', isPrivate);
}

async function buyOnce({ transcript, desk, buyer, listing }: Scenario): Promise<CallResult> {
  transcript.step('Ada calls without paying, and learns what it costs', { isDetailed: true });
  const refusal = await refusalOf(buyer.call(listing, QUESTION));
  const offer = refusal?.payment;
  transcript.promise(
    `402: the listed ${formatUsd(PRICE_USD)}, the fee in it $0.0125, for Otto $0.2375`,
    refusal?.status === 402 &&
      isDeepStrictEqual(offer?.fees, {
        gross_amount: 0.25,
        fee_rate: 0.05,
        fee_amount: 0.0125,
        provider_receives: 0.2375,
      }),
    refusal,
  );
  transcript.promise('The seller was not bothered', desk.calls === 0, desk.calls);

  transcript.step('Ada pays and repeats the call', { isDetailed: true });
  const result = await buyer.call(listing, QUESTION, { pay: sandboxPayer(buyer), maxPriceUsd: '0.25' });
  transcript.promise('Asking again gave the same offer', result.relayRequestId === offer?.relay_request_id, result);
  transcript.promise('The answer is the seller’s', isDeepStrictEqual(result.seller_response, { words: 9 }), result);
  transcript.promise(
    'Charged is the price, and fee and credit add up to it',
    result.billable &&
      result.charged_amount.amount_cents === 25 &&
      result.fees.fee_amount_cents === 1.25 &&
      result.fees.seller_receives_cents === 23.75,
    result,
  );
  transcript.promise('The seller was called once', desk.calls === 1, desk.calls);

  transcript.step('The connection might have broken, so Ada repeats the paid call');
  const again = await buyer.call(listing, QUESTION, { relayRequestId: result.relayRequestId! });
  transcript.promise('The answer is the same, byte for byte', again.rawBody === result.rawBody, { again, result });
  transcript.promise('The seller is not called', desk.calls === 1, desk.calls);
  return result;
}

async function readTheBooks({ transcript, buyer, seller, listing }: Scenario, paid: CallResult): Promise<void> {
  transcript.step('Both hold a receipt');
  const receipts = [await latestReceipt(buyer), await latestReceipt(seller)];
  transcript.table([
    ['', 'from', 'to', 'gross', 'fee', 'net'],
    ...receipts.map(({ recipient_type, payer, seller: to, gross_amount, fee_amount, net_amount }) => [
      recipient_type,
      payer.display_name,
      to.display_name,
      ...[gross_amount, fee_amount, net_amount].map(formatUsd),
    ]),
  ]);
  transcript.promise(
    'Both receipts say the same and name the payment',
    receipts.every(
      ({ relay_request_id, gross_amount, fee_amount, net_amount }) =>
        relay_request_id === paid.relayRequestId &&
        gross_amount === 0.25 &&
        fee_amount === 0.0125 &&
        net_amount === 0.2375,
    ),
    receipts,
  );

  transcript.step('Both ledgers tell it');
  const [paidOut, earned] = [await entriesOf(buyer, listing), await entriesOf(seller, listing)];
  transcript.table([
    ['entry', '', 'amount', 'balance'],
    ...[...paidOut, ...earned].map(({ type, direction, amount_cents, balance_after_cents }) => [
      type,
      direction,
      formatCents(amount_cents),
      formatCents(balance_after_cents),
    ]),
  ]);
  const postings = (entries: LedgerEntry[]): string =>
    entries.map(({ type, direction, amount_cents }) => `${type} ${direction} ${amount_cents}`).join(', ');
  transcript.promise('Ada paid the price, once', postings(paidOut) === 'direct_payment debit 25', paidOut);
  transcript.promise(
    'Otto was credited the price and debited the fee, once; the net of his receipt is what he has',
    postings(earned) === 'seller_credit credit 25, marketplace_fee debit 1.25' &&
      earned.at(-1)?.balance_after_cents === 23.75,
    earned,
  );
}

async function surviveFailingSeller({ transcript, desk, buyer, listing }: Scenario): Promise<void> {
  transcript.step('Otto’s desk fails on the next call');
  desk.isDown = true;
  const failed = await buyer.call(listing, SECOND_QUESTION, { pay: sandboxPayer(buyer) });
  transcript.table([
    ['billable', String(failed.billable)],
    ['seller answered', String(failed.seller_status_code)],
    ['what to do', failed.recovery?.next_action ?? 'nothing'],
  ]);
  transcript.promise(
    'What was not delivered is not charged',
    !failed.billable && failed.charged_amount.amount_cents === 0,
    failed,
  );
  transcript.step('The desk is back, and the same payment is good for the same call');
  transcript.promise('The books did not move', (await entriesOf(buyer, listing)).length === 1);
  desk.isDown = false;
  const delivered = await buyer.call(listing, SECOND_QUESTION, { relayRequestId: failed.relayRequestId! });
  const isAnswered = delivered.billable && isDeepStrictEqual(delivered.seller_response, { words: 8 });
  transcript.promise('Now it is answered', isAnswered, delivered);
  const charges = await entriesOf(buyer, listing);
  transcript.promise('It is charged once, without paying again', charges.length === 2 && desk.calls === 3, charges);
}

async function refuseWhatMustNotWork(scenario: Scenario, { relayRequestId }: CallResult): Promise<void> {
  const { transcript, desk, buyer, seller, listing } = scenario;
  transcript.step('What must not work');
  const forged = await fetch(desk.url, { method: 'POST', body: JSON.stringify(QUESTION) });
  transcript.promise(
    'Calling Otto’s desk directly: 401, it takes signed calls only',
    forged.status === 401,
    forged.status,
  );

  const mismatch = await refusalOf(
    buyer.call(listing, { text: 'something else' }, { relayRequestId: relayRequestId! }),
  );
  transcript.promise(
    'Another question on a payment already made: 409, request_body_mismatch',
    mismatch?.status === 409 && mismatch.details?.['reason'] === 'request_body_mismatch',
    mismatch,
  );
  const pay = sandboxPayer(buyer);
  const tooExpensive = await refusalOf(buyer.call(listing, { text: 'cheaper?' }, { pay, maxPriceUsd: '0.249999' }));
  transcript.promise(
    'A price above Ada’s limit: refused on her side, nothing paid',
    tooExpensive?.code === 'PRICE_ABOVE_LIMIT',
    tooExpensive,
  );

  const foreign = await refusalOf(seller.receipts.get(await latestReceipt(buyer)));
  transcript.promise('Otto reading Ada’s receipt: 404, as if it did not exist', foreign?.status === 404, foreign);

  const charges = await entriesOf(buyer, listing);
  transcript.promise('None of this reached the seller or the books', desk.calls === 3 && charges.length === 2, charges);
}

async function buyFile({ transcript, buyer, listing }: Scenario): Promise<void> {
  transcript.step('Ada buys the words with their lengths, which Otto answers with a file');
  const answer = await buyer.call<FileAnswer>(listing, LIST_OF_WORDS, {
    pay: sandboxPayer(buyer),
    maxPriceUsd: '0.25',
  });
  const { content_type, size } = answer.seller_response;
  const csv = new TextDecoder().decode(await answer.bytes());
  transcript.table([
    ['type', content_type],
    ['bytes', String(size)],
  ]);
  const isWhole = content_type === 'text/csv' && csv.startsWith('The,3\nquick,5\n') && csv.length === size;
  transcript.promise('The file is whole, and of the type that Otto gave it', isWhole, { answer, csv });
}

/** Says a word when the one before was heard. */
async function* spoken(words: string[], desk: Scenario['desk'], signal: AbortSignal): AsyncGenerator<string> {
  for (const [before, word] of words.entries()) {
    while (desk.heard < before) await delay(10, undefined, { signal });
    yield word;
  }
}

async function listen({ transcript, desk, buyer, listing }: Scenario): Promise<void> {
  transcript.step('Ada has the words read to her: Otto answers with a stream');
  const stream = await buyer.stream<string>(listing, READ_ALOUD, { pay: sandboxPayer(buyer), maxPriceUsd: '0.25' });
  const heard: string[] = [];
  for await (const { data } of stream) desk.heard = heard.push(data);
  const result = await stream.result();
  transcript.table([
    ['heard', heard.join(' ')],
    ['events', String(result.events)],
  ]);
  const isWhole = result.outcome === 'completed' && heard.join(' ') === READ_ALOUD.text;
  transcript.promise('Each word came before the next was said, and she heard them all', isWhole, { heard, result });
  transcript.promise('It is charged as any call', result.billable && result.charged_amount.amount_cents === 25, result);
}

/** Goes on when she has heard how far it is. */
async function printed(
  words: string[],
  desk: Scenario['desk'],
  progress: (said: JobProgress) => Promise<void>,
): Promise<object> {
  for (desk.heard = 0; desk.heard === 0; await delay(10))
    await progress({ percent: 50, message: 'Bound, not printed' });
  return { pages: words };
}

async function orderBook({ transcript, desk, buyer, listing }: Scenario): Promise<void> {
  transcript.step('Ada orders a book of the words, which takes Otto a while: his answer is a job');
  const order = await buyer.job<{ pages: string[] }>(listing, BOOK, {
    pay: sandboxPayer(buyer),
    maxPriceUsd: '0.25',
  });
  const heard: string[] = [];
  for await (const { percent, message } of order)
    if (percent !== null) desk.heard = heard.push(`${percent} %, ${message}`);
  const result = await order.result();
  transcript.table([
    ['heard', heard.join('; ')],
    ['pages', String(result.seller_response.pages.length)],
  ]);
  const isTold = heard.includes('50 %, Bound, not printed');
  transcript.promise('She was told how far it was, and got it', isTold && result.billable, { heard, result });
  const charged = result.charged_amount.amount_cents;
  transcript.promise('It is charged at its delivery, once', charged === 25, result);
}

async function closeShop({ transcript, seller, buyer, listing }: Scenario): Promise<void> {
  transcript.step('Otto closes');
  const removed = await seller.listings.remove(listing);
  const hidden = await refusalOf(buyer.listings.get(listing));
  transcript.promise(
    'The listing is suspended and hidden; its history stays',
    !removed.deleted && removed.status === 'suspended' && hidden?.status === 404,
    removed,
  );
}

/** Oldest first. */
const entriesOf = async (agent: Marketplace, { id }: CreatedListing): Promise<LedgerEntry[]> =>
  (await agent.ledger.list({ listing_id: id })).data.reverse();

const latestReceipt = async (agent: Marketplace) => agent.receipts.get((await agent.receipts.list()).data[0]!);

/** The refusal of a request that the marketplace must refuse; undefined when it did not refuse it. */
async function refusalOf(attempt: Promise<unknown>): Promise<MarketplaceError | undefined> {
  return attempt.then(
    () => undefined,
    (error: unknown) => (error instanceof MarketplaceError ? error : Promise.reject(error)),
  );
}
