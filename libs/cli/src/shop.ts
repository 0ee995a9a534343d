import { formatUsd, MarketplaceError, type CreateListing, type UpdatedListing } from '@market/sdk';
import {
  reply,
  sellerServer,
  type SellerHandler,
  type SellerServer,
  type SentEvent,
  type Service,
} from '@market/sdk/seller';
import { once } from 'node:events';
import { CommandError, type CommonOptions, type Session } from './cli.js';
import { changeConfig, type Account } from './config.js';

/** A service that is sold here. */
export interface Stall extends Omit<Service, 'listing'> {
  listing: Partial<CreateListing> & { name: string };
  /** The last part of its endpoint's path; empty for the only one. */
  path: string;
  /** Under which its listing is found again, beside its name. */
  key?: string;
}
export interface ShopOptions extends CommonOptions {
  host: string;
  port: number;
  publicUrl?: string;
}
type Seller = Session & { account: Account };
type Sold = Pick<UpdatedListing, 'id' | 'slug' | 'pricing_amount'>;

/** How long calls under way may take after the shop was closed. */
const GRACE_MS = 30_000;

/**
 * Serves the calls of each service, under a listing that it makes or finds again, until the process is told to stop.
 * One that cannot be listed is reported and left out.
 */
export async function keepShop(seller: Seller, stalls: readonly Stall[], options: ShopOptions): Promise<void> {
  const log = (event: object, text: string): void =>
    console.log(options.json ? JSON.stringify(event) : `${new Date().toTimeString().slice(0, 8)} ${text}`);
  const secrets = new Map<string, string[]>();
  const last = (path: string): string => path.split('/').at(-1)!;
  // A shop of one stall takes calls at any path.
  const at = (path: string): Stall | undefined => stalls.find((stall) => ['', last(path)].includes(stall.path));
  const server = await sellerServer<Record<string, unknown>>(
    (request) => logged(at(request.path)!.handler, log)(request),
    { secret: (path) => secrets.get(at(path)?.path ?? last(path)) ?? [], host: options.host, port: options.port },
  );
  const sold: Sold[] = [];
  const stopped = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => stopped.abort());
  try {
    for (const stall of stalls) {
      if (stopped.signal.aborted) return;
      const endpoint = [(options.publicUrl ?? server.url).replace(/\/+$/, ''), stall.path].filter(Boolean).join('/');
      try {
        const { listing, secret } = await publish(seller, stall, endpoint);
        secrets.set(stall.path, [secret]);
        sold.push(listing);
        const price = listing.pricing_amount ?? 0;
        log(
          { event: 'selling', listing: listing.slug, price, endpoint },
          `selling ${listing.slug} for ${formatUsd(price)} a call at ${endpoint}; Ctrl-C closes the shop`,
        );
      } catch (error) {
        if (stalls.length === 1 || !(error instanceof MarketplaceError && error.status === 400)) throw error;
        const { message, details } = error;
        console.error(`${stall.id} is not sold: ${message} ${details ? JSON.stringify(details) : ''}`);
      }
    }
    if (sold.length === 0) throw new CommandError('Nothing is sold.');
    if (!stopped.signal.aborted) await once(stopped.signal, 'abort');
  } finally {
    await close(seller, sold, server);
  }
}

/** Takes the listings off the market, then waits for the calls that were sold. A second signal ends the process at once. */
async function close({ market }: Seller, sold: readonly Sold[], server: SellerServer): Promise<void> {
  const closed = await Promise.allSettled(sold.map((listing) => market.listings.update(listing, { status: 'draft' })));
  await server.close({ graceMs: GRACE_MS });
  const failed = closed.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason as Error;
}

function logged(
  handler: SellerHandler<Record<string, unknown>>,
  log: (event: object, text: string) => void,
): SellerHandler<Record<string, unknown>> {
  return async (request) => {
    const { event, requestId } = request.call;
    const startedAt = performance.now();
    const served = (status: number): void => {
      const ms = Math.round(performance.now() - startedAt);
      log({ event, request_id: requestId, status, ms }, `${event} ${requestId} ${status} ${ms} ms`);
    };
    try {
      const answer = await handler(request);
      if (answer instanceof Object && Symbol.asyncIterator in answer)
        return watched(answer as AsyncIterable<SentEvent>, served);
      const hasStatus =
        answer instanceof Response || (answer instanceof Object && answer.constructor === reply(0, 0).constructor);
      served(hasStatus ? (answer as { status: number }).status : 200);
      return answer;
    } catch (error) {
      served(500);
      throw error;
    }
  };
}

/** Reports a stream when it is over: as 499 if the marketplace hung up. */
async function* watched(events: AsyncIterable<SentEvent>, served: (status: number) => void): AsyncGenerator<SentEvent> {
  let status = 499;
  try {
    yield* events;
    status = 200;
  } catch (error) {
    status = 500;
    throw error;
  } finally {
    served(status);
  }
}

/** Uses the listing that sold the same before, or the account's of that name that sells nothing else, or creates one. */
async function publish(
  { market, url, account }: Seller,
  { listing: fields, key }: Stall,
  endpoint: string,
): Promise<{ listing: Sold; secret: string }> {
  const current = { ...fields, private_endpoint_url: endpoint };
  const keep = (id: string, secret: string): Promise<void> =>
    changeConfig((config) => {
      const own = config.accounts[url]!;
      own.signingSecrets[id] = secret;
      if (key !== undefined) own.sold = { ...own.sold, [key]: id };
      Object.assign(account, own);
    });
  const { data: mine } = await market.listings.search({ mine: true, q: fields.name, limit: 100 });
  const sold = account.sold ?? {};
  const before = key === undefined ? undefined : sold[key];
  const known =
    (before && (await market.listings.get(before).catch(ifMissing))) ??
    mine.find(({ name, id }) => name === fields.name && (key === undefined || !Object.values(sold).includes(id)));
  if (!known) {
    const created = await market.listings.create({
      pricing_model: 'per_call',
      ...current,
      description: fields.description ?? `${fields.name}, a service of an agent.`,
    });
    const secret = created.gateway_signing_secret!;
    await keep(created.id, secret);
    return { listing: created, secret };
  }
  const secret =
    account.signingSecrets[known.id] ??
    (await market.endpoint.rotateSecret(known, { overlapSeconds: 0 })).gateway_signing_secret;
  await keep(known.id, secret);
  return { listing: await market.listings.update(known, { ...current, status: 'active' }), secret };
}

function ifMissing(error: unknown): undefined {
  if (!(error instanceof MarketplaceError && error.status === 404)) throw error;
}
