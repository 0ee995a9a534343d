import { type CreatedListing, type CreateListing } from '@market/sdk';
import { reply, sellerServer, type SellerRequest } from '@market/sdk/seller';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Agent } from './harness.js';

/** The seller's billable answers, by request id. */
class Deliveries {
  private readonly answers = new Map<string, number>();

  note(requestId: string): void {
    this.answers.set(requestId, (this.answers.get(requestId) ?? 0) + 1);
  }

  get requestIds(): string[] {
    return [...this.answers.keys()];
  }

  timesCalled(requestId: string): number {
    return this.answers.get(requestId) ?? 0;
  }
}

export interface Shop {
  readonly listing: CreatedListing;
  readonly deliveries: Deliveries;
  /** Every signed request, in order. */
  readonly requests: SellerRequest[];
  close(): Promise<void>;
}

type Handler = (request: SellerRequest) => unknown;

let shops = 0;
const describeListing = (): Pick<CreateListing, 'name' | 'description'> => ({
  name: `Shop ${(shops += 1)} of a test`,
  description: 'Answers what it is asked, for the tests of the marketplace.',
});

/** Starts a seller's server with a per_call listing. It accepts only signed requests and counts its deliveries. */
export async function openShop(
  seller: Agent,
  handler: Handler = ({ body }) => ({ echo: body }),
  listing: Partial<CreateListing> = {},
): Promise<Shop> {
  const deliveries = new Deliveries();
  const requests: SellerRequest[] = [];
  let secret = '';
  const server = await sellerServer(
    async (request) => {
      requests.push(request);
      const answer = await handler(request);
      const status =
        answer instanceof Object && 'status' in answer && 'body' in answer
          ? (answer as { status: number }).status
          : 200;
      if (status < 300 && request.call.event === 'gateway.call') deliveries.note(request.call.requestId);
      return answer;
    },
    { secret: () => secret },
  );
  const created = await seller.market.listings.create({
    ...describeListing(),
    pricing_model: 'per_call',
    pricing_amount: 0.25,
    private_endpoint_url: `${server.url}/call`,
    ...listing,
  });
  secret = created.gateway_signing_secret!;
  return { listing: created, deliveries, requests, close: () => server.close() };
}

/**
 * A seller's server that answers with raw bytes: its handler gets the socket after the head of the request was read.
 */
export interface RogueServer {
  readonly url: string;
  readonly calls: number;
  close(): Promise<void>;
}

/** Whether the marketplace tests the endpoint, which it does in its own time: a test of calls answers that well. */
export const isEndpointTest = ({ headers }: IncomingMessage): boolean => headers['x-market-event'] === 'endpoint.test';

export async function rogueServer(
  behave: (request: IncomingMessage, response: ServerResponse, socket: Socket) => void,
): Promise<RogueServer> {
  let calls = 0;
  const server: Server = createServer((request, response) => {
    calls += 1;
    request.resume();
    behave(request, response, request.socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/call`,
    get calls() {
      return calls;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Creates a per_call listing for a server whose calls are not counted. */
export function listServer(seller: Agent, url: string, listing: Partial<CreateListing> = {}): Promise<CreatedListing> {
  return seller.market.listings.create({
    ...describeListing(),
    pricing_model: 'per_call',
    pricing_amount: 0.25,
    private_endpoint_url: url,
    ...listing,
  });
}

export { reply };
