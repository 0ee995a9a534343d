import { countOf } from '@market/test-servers/threats';
import type { CreatedListing } from '@market/sdk';
import { job, sellerServer } from '@market/sdk/seller';
import { startMarketplace, withClient, type ProcessName, type RunningMarketplace } from '@market/testing';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expectBooksInOrder } from '../support/books.js';
import { payFor, withRelayId } from '../support/buyer.js';
import { EventReader, type StreamResult } from '../support/event-reader.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { listServer, rogueServer, type RogueServer } from '../support/seller.js';
import { takeTheMachine } from '../support/whole-machine.js';

/** Of streams, files and jobs each. More take longer to begin, and so have to last longer. */
const CALLS = countOf('streams');
const EVENTS = 20;
const EVENT_MS = Math.max(75, 1.5 * CALLS);
/** Fewer than a buyer may have under way and read. */
const CALLS_OF_BUYER = 10;
/** Fewer than a listing may have under way. */
const CALLS_OF_LISTING = 200;
const WHOLE = Array.from({ length: EVENTS }, (_, n) => String(n));
/** How long a buyer repeats its call. */
const GIVE_UP_MS = 120_000 + 4 * EVENTS * EVENT_MS;

/** The bytes of a thousand files fit into memory, and those of one into no single message. */
const PIECE = 'a piece of a file '.repeat(Math.max(450, 48_000 / CALLS));

interface Call {
  buyer: Agent;
  listing: CreatedListing;
  body: object;
  relayRequestId: string;
}

inEachMode('streams under way when a process dies', ({ mode }) => {
  takeTheMachine();
  let marketplace: RunningMarketplace;
  let server: RogueServer;
  let seller: Agent;
  let buyers: Agent[];
  let listings: CreatedListing[];
  let begun = 0;

  let answer = (response: ServerResponse): void => void response.end('{}');
  const stream = (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    sendEach(response, (n) => `data: ${n}\n\n`);
  };
  const file = (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    sendEach(response, () => PIECE);
  };
  const sendEach = (response: ServerResponse, pieceAt: (n: number) => string): void => {
    let sent = 0;
    const send = setInterval(() => {
      response.write(pieceAt(sent));
      sent += 1;
      if (sent === 3) begun += 1;
      if (sent < EVENTS) return;
      clearInterval(send);
      response.end();
    }, EVENT_MS);
    response.on('close', () => clearInterval(send));
  };

  beforeAll(async () => {
    marketplace = await startMarketplace({
      mode,
      env: {
        GATEWAY_RESUME_INTERVAL_MS: '250',
        GATEWAY_FAILING_AFTER: '1000',
        GATEWAY_STORED_BYTES_PER_ACCOUNT: String(2 ** 40),
      },
      replicas: { gateway: 2, 'payments-ledger': 2 },
    });
    server = await rogueServer((_request, response) => answer(response));
    seller = await registerAgent(marketplace);
    buyers = [];
    while (buyers.length < CALLS / CALLS_OF_BUYER)
      buyers.push(...(await Promise.all([registerAgent(marketplace), registerAgent(marketplace)])));
    listings = [];
    for (let room = 0; room < CALLS; room += CALLS_OF_LISTING) {
      const listing = await listServer(seller, server.url, { formats: ['sse', 'binary'] });
      await seller.market.endpoint.update(listing, { timeout_ms: 120_000, limits: { max_concurrency: 256 } });
      listings.push(listing);
    }
  }, 240_000);
  afterAll(async () => {
    await server?.close();
    await marketplace?.stop();
  }, 120_000);

  /** Asks for one call until it has ended, as a client does whose connection is lost. */
  const asked = async <T>(
    { buyer, listing, body, relayRequestId }: Call,
    accept: string,
    read: (response: Response) => Promise<T | undefined>,
  ): Promise<T> => {
    let pauseMs = 0;
    for (const until = Date.now() + GIVE_UP_MS; Date.now() < until; await delay(pauseMs)) {
      const response = await fetch(`${marketplace.baseUrl}/api/v1/gateway/${listing.id}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${buyer.registration.api_key}`,
          'content-type': 'application/json',
          accept,
          ...withRelayId(relayRequestId),
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(30_000 + 2 * EVENTS * EVENT_MS),
      }).catch(() => null);
      pauseMs = 1_000 * Number(response?.headers.get('retry-after') ?? 0.2);
      if (!response?.headers.get('content-type')?.startsWith(accept)) {
        const text = await response?.text().catch(() => '');
        // On a busy machine a seller may not be done in time, and its payment is good for another attempt.
        const isAskedAgain = response?.status === 200 && /"billable":false.*"retry_same_request"/.test(text!);
        if (!isAskedAgain) expect([undefined, 202, 503]).toContain(response?.status);
        continue;
      }
      const answer = await read(response);
      if (answer !== undefined) return answer;
    }
    throw new Error(`the call of ${relayRequestId} has not ended`);
  };
  const wholeOf = (call: Call): Promise<[string[], StreamResult]> =>
    asked(call, 'text/event-stream', async (response) => {
      const reader = await new EventReader(response).until(({ isOver }) => isOver);
      return reader.result && [reader.data(), reader.result];
    });
  const fileOf = (call: Call): Promise<string> =>
    asked(call, 'application/octet-stream', (response) => response.text().catch(() => undefined));
  const jobOf = (call: Call): Promise<{ billable: boolean; seller_response: unknown }> =>
    asked(call, 'application/json', async (response) => {
      type Answer = { billable?: boolean; seller_response: unknown; recovery?: { next_action: string } };
      const { data } = (await response.json().catch(() => ({}))) as { data?: Answer };
      // As above: the seller has not taken it in time.
      if (data?.billable === undefined || data.recovery?.next_action === 'retry_same_request') return undefined;
      return { ...data, billable: data.billable };
    });
  const callsOf = async (victim: string, of = listings): Promise<Call[]> => {
    const calls: Call[] = [];
    // Offers of one buyer are made one after the other.
    await Promise.all(
      buyers.map(async (buyer, n) => {
        for (let at = n; at < CALLS; at += buyers.length) {
          const [listing, body] = [of[at % of.length]!, { victim, at }];
          calls.push({ buyer, listing, body, relayRequestId: await payFor(buyer, listing, body) });
        }
      }),
    );
    begun = 0;
    return calls;
  };
  const expectChargedOnce = async (calls: Call[]): Promise<void> => {
    await withClient(marketplace.databaseUrl, async (client) => {
      const { rows } = await client.query<{ charges: number }>(
        `SELECT count(t.id)::int AS charges FROM payments_ledger.payments p
         LEFT JOIN payments_ledger.journal_transactions t ON t.payment_id = p.id AND t.reason = 'call_completed'
         WHERE p.relay_request_id = ANY($1) GROUP BY p.id`,
        [calls.map((call) => call.relayRequestId)],
      );
      expect(rows.map(({ charges }) => charges)).toEqual(calls.map(() => 1));
    });
    await expectBooksInOrder(marketplace, [], { withinMs: 90_000 });
  };

  const victims: ProcessName[] =
    mode === 'standalone'
      ? ['standalone', 'postgres']
      : ['gateway', 'payments-ledger', 'api-gateway', 'nats', 'postgres'];
  it.each(victims)(
    'are each delivered whole and charged once, %s killed',
    async (victim) => {
      answer = stream;
      const calls = await callsOf(victim);
      const ending = Promise.all(calls.map(wholeOf));
      while (begun < CALLS / 2) await delay(20);
      await marketplace.kill(victim);
      await marketplace.restart(victim);
      const ends = await ending;
      for (const [data, result] of ends) {
        expect(data).toEqual(WHOLE);
        expect(result).toMatchObject({ billable: true, outcome: 'completed', events: EVENTS });
      }
      // A repetition calls nobody, and is the same.
      const before = server.calls;
      expect(await wholeOf(calls[0]!)).toEqual(ends[0]);
      expect(server.calls).toBe(before);
      await expectChargedOnce(calls);
    },
    GIVE_UP_MS + 240_000,
  );

  it.each(victims)(
    'and files are, too, %s killed',
    async (victim) => {
      answer = file;
      const calls = await callsOf(`files, ${victim}`);
      const ending = Promise.all(calls.map(fileOf));
      while (begun < CALLS / 2) await delay(20);
      await marketplace.kill(victim);
      await marketplace.restart(victim);
      expect(new Set(await ending)).toEqual(new Set([PIECE.repeat(EVENTS)]));
      await expectChargedOnce(calls);
    },
    GIVE_UP_MS + 240_000,
  );

  it.each(victims)(
    'and jobs are, too, %s killed',
    async (victim) => {
      let secret = '';
      const delivered = { done: true };
      const work = async (): Promise<object> => {
        await delay(EVENTS * EVENT_MS);
        return delivered;
      };
      const sellerOfJobs = await sellerServer(
        () => {
          begun += 1;
          return job(work);
        },
        { secret: () => secret },
      );
      const listing = await listServer(seller, sellerOfJobs.url, { delivery_type: 'webhook' });
      await seller.market.endpoint.update(listing, { timeout_ms: 120_000, limits: { max_concurrency: 256 } });
      secret = listing.gateway_signing_secret!;
      const calls = await callsOf(`jobs, ${victim}`, [listing]);
      const ending = Promise.all(calls.map(jobOf));
      while (begun < CALLS / 2) await delay(20);
      await marketplace.kill(victim);
      await marketplace.restart(victim);
      for (const ended of await ending) expect(ended).toMatchObject({ billable: true, seller_response: delivered });
      await expectChargedOnce(calls);
      await sellerOfJobs.close();
    },
    GIVE_UP_MS + 240_000,
  );
});
