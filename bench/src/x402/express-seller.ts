import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import { HTTPFacilitatorClient } from '@x402/core/server';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { createRequire } from 'node:module';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { NETWORK } from './chain.js';

type Handler = (
  request: { body: unknown },
  response: { type(type: string): { send(text: string): void } },
) => Promise<void>;
/** The part of Express that is used here, since Express ships no types. */
interface Express {
  use(handler: unknown): void;
  post(path: string, handler: Handler): void;
  listen(port: number, host: string, listening: () => void): Server;
}
const express = createRequire(import.meta.url)('express') as (() => Express) & { json(): unknown };

/** A seller as in the documentation of `@x402/express`. Its handler calls the same seller as the marketplace's listing. */
const seller = new Pool(process.env.SELLER_URL!, { connections: 32 });
const payments = new x402ResourceServer(new HTTPFacilitatorClient({ url: process.env.FACILITATOR_URL! })).register(
  NETWORK,
  new ExactEvmScheme(),
);
const app = express();
app.use(express.json());
app.use(
  paymentMiddleware(
    {
      'POST /weather': {
        accepts: { scheme: 'exact', price: process.env.PRICE!, network: NETWORK, payTo: process.env.PAY_TO! },
        description: 'The weather of any place.',
      },
    },
    payments,
  ),
);
app.post('/weather', async ({ body }, response) => {
  const answer = await seller.request({
    method: 'POST',
    path: '/call',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  response.type('json').send(await answer.body.text());
});
process.stdin.resume().once('end', () => process.exit(0));
const server = app.listen(0, '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
