import {
  describeNeeding,
  startMarketplace,
  startNginx,
  temporaryDirectory,
  type Nginx,
  type RunningMarketplace,
} from '@market/testing';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { createServer, get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent as Dispatcher, fetch as fetchThrough } from 'undici';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { jsonPost, mppClient } from '../support/stock-client.js';

/** More chains than fit into a header. */
const CHAINS = [8453, 84532, 1, 10, 137, 42161, 11155111].map((id) => `eip155:${id}`);
/** Of an answer: nginx and others accept 4 KiB by default. */
const MAX_ANSWER_HEADERS = 3_584;
/** Of a request, beside its other headers: nginx accepts a line of 8 KiB by default. */
const MAX_ECHO = 6_144;
const JAPANESE = '東京の天気予報を、時間ごとに教えてください。'.repeat(32);

/** Answers as a facilitator that settles everything. */
async function startFacilitator(): Promise<Server> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const network = (text: string) =>
        (JSON.parse(text) as { paymentRequirements: { network: string } }).paymentRequirements.network;
      const answer = request.url?.endsWith('/supported')
        ? { kinds: CHAINS.map((each) => ({ x402Version: 2, scheme: 'exact', network: each })) }
        : request.url?.endsWith('/verify')
          ? { isValid: true }
          : {
              success: true,
              transaction: `0x${randomBytes(32).toString('hex')}`,
              network: network(Buffer.concat(chunks).toString()),
            };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** The nginx of docs/operations.md before an edge, with a certificate that it makes in `directory`. */
async function startDocumentedNginx(edgeUrl: string, directory: string): Promise<Nginx> {
  const page = await readFile(new URL('../../../../docs/operations.md', import.meta.url), 'utf8');
  const [, block = ''] = /```nginx\n([^`]+)```/.exec(page)!;
  const certificate =
    'req -x509 -newkey rsa:2048 -nodes -days 2 -keyout market.key -out market.pem -subj /CN=localhost';
  execFileSync('openssl', certificate.split(' '), { cwd: directory, stdio: 'pipe' });
  const { url, ...nginx } = await startNginx((listen) =>
    block
      .replace('127.0.0.1:3000', new URL(edgeUrl).host)
      .replace('listen 443', `listen ${listen}`)
      .replaceAll('/etc/ssl', directory),
  );
  return { ...nginx, url: url.replace('http:', 'https:') };
}

/** The size of an answer's head as it is on the wire. */
const headBytes = (url: string, headers: Record<string, string> = {}): Promise<{ bytes: number; status: number }> =>
  new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      response.resume();
      const lines = [];
      for (let n = 0; n < response.rawHeaders.length; n += 2)
        lines.push(`${response.rawHeaders[n]}: ${response.rawHeaders[n + 1]}`);
      const head = ['HTTP/1.1 402 Payment Required', ...lines, '', ''].join('\r\n');
      resolve({ bytes: Buffer.byteLength(head, 'latin1'), status: response.statusCode! });
    }).on('error', reject);
  });

inEachMode('through a proxy with its default limits', ({ mode }) => {
  describeNeeding('nginx')('on seven chains', () => {
    let facilitator: Server;
    let marketplace: RunningMarketplace;
    let proxy: Nginx;
    let documented: Nginx;
    let directory: string;
    let seller: Agent;
    let shop: Shop;

    beforeAll(async () => {
      facilitator = await startFacilitator();
      marketplace = await startMarketplace({
        mode,
        env: {
          PAYMENTS_LEDGER_X402_CHAINS: CHAINS.join(','),
          PAYMENTS_LEDGER_FEE_ADDRESS: privateKeyToAccount(generatePrivateKey()).address,
          PAYMENTS_LEDGER_X402_FACILITATOR_URL: `http://127.0.0.1:${(facilitator.address() as AddressInfo).port}`,
        },
      });
      proxy = await startNginx(
        (listen) => `server { listen ${listen}; location / { proxy_pass ${marketplace.baseUrl}; } }`,
      );
      directory = await temporaryDirectory('certificate');
      documented = await startDocumentedNginx(marketplace.baseUrl, directory);
      seller = await registerAgent(marketplace);
      shop = await openShop(seller, undefined, {
        name: 'Weather of the next hours, told at length and for every quarter of a large city in the far east',
        pricing_amount: 0.25,
        input_schema: {
          type: 'object',
          properties: { city: { type: 'string', description: JAPANESE } },
          required: ['city'],
        },
        example_input: { city: JAPANESE },
      });
    }, 360_000);
    afterAll(async () => {
      await shop?.close();
      await proxy?.stop();
      await documented?.stop();
      await rm(directory, { recursive: true, force: true });
      await marketplace?.stop();
      facilitator?.close();
    }, 120_000);

    const url = (base: string): string => `${base}/api/v1/x402/${shop.listing.slug}`;
    const requiredOf = (answer: Response) =>
      JSON.parse(Buffer.from(answer.headers.get('payment-required')!, 'base64').toString()) as {
        accepts: { network: string }[];
        extensions: { bazaar: { info: object } };
      };

    it.each([
      ['its defaults', () => proxy],
      ['the settings of docs/operations.md', () => documented],
    ])(
      'with %s, stock clients without a key and with one are told the price, pay and are answered',
      async (_, nginx) => {
        const base = nginx().url;
        // The certificate of a test is signed by itself.
        const dispatcher = new Dispatcher({ allowH2: true, connect: { rejectUnauthorized: false } });
        const account = privateKeyToAccount(generatePrivateKey());
        const client = new x402Client().register('eip155:*', new ExactEvmScheme(account));
        const echoed: number[] = [];
        const paying = wrapFetchWithPayment(async (input, init) => {
          const request = new Request(input, init);
          const signature = request.headers.get('payment-signature');
          if (signature) echoed.push(signature.length);
          const { url: target, method } = request;
          const headers = Object.fromEntries(request.headers);
          const answer = await fetchThrough(target, { method, headers, body: await request.text(), dispatcher });
          return answer as unknown as Response;
        }, client);
        const buyer = await registerAgent(marketplace);
        const ways: [string, Record<string, string>][] = [
          [url(base), {}],
          [`${base}/api/v1/gateway/${shop.listing.slug}`, { authorization: buyer.registration.authorization_header }],
        ];
        for (const [target, headers] of ways) {
          const answer = await paying(target, {
            method: 'POST',
            headers: { 'content-type': 'application/json', ...headers },
            body: JSON.stringify({ city: '東京' }),
          });
          expect([answer.status, await answer.json()]).toMatchObject([
            200,
            { data: { seller_response: { echo: { city: '東京' } } } },
          ]);
        }
        const byMpp = mppClient(account, async (input, init) => {
          const { url: target, method, headers, body } = new Request(input, init);
          const payment = [headers.get('authorization'), headers.get('payment-authorization')];
          echoed.push(...payment.filter((each) => each?.startsWith('Payment ')).map((each) => each!.length));
          const text = await new Response(body).text();
          const sent = { method, headers: Object.fromEntries(headers), body: text, dispatcher };
          return (await fetchThrough(target, sent)) as unknown as Response;
        });
        for (const [target, headers] of ways) {
          const answer = await byMpp.fetch(target, jsonPost({ city: '江戸' }, headers));
          expect([answer.status, answer.headers.has('payment-receipt')]).toEqual([200, true]);
        }
        expect(echoed).toHaveLength(4);
        expect(Math.max(...echoed)).toBeLessThan(MAX_ECHO);
        await dispatcher.close();
      },
    );

    it('a stock client with a key and a wallet on one chain pays on that chain', async () => {
      const buyer = await registerAgent(marketplace);
      const client = (network: `${string}:${string}`): typeof fetch =>
        wrapFetchWithPayment(
          fetch,
          new x402Client().register(network, new ExactEvmScheme(privateKeyToAccount(generatePrivateKey()))),
        );
      const bought: string[] = [];
      for (const network of CHAINS.slice(0, 3)) {
        const answer = await client(network as `${string}:${string}`)(
          `${proxy.url}/api/v1/gateway/${shop.listing.slug}`,
          {
            method: 'POST',
            headers: {
              'content-type': 'application/json',
              authorization: buyer.registration.authorization_header,
            },
            body: JSON.stringify({ city: network }),
          },
        );
        const paid = JSON.parse(
          Buffer.from(answer.headers.get('payment-response') ?? 'e30=', 'base64').toString(),
        ) as object;
        expect([answer.status, paid]).toMatchObject([200, { success: true, network }]);
        bought.push(((await answer.json()) as { data: { request_id: string } }).data.request_id);
      }
      const history = (await buyer.market.gatewayRequests.list({ limit: 3 })).data;
      expect(history.map(({ request_id, payment }) => [request_id, payment?.network])).toEqual(
        bought.map((id, index) => [id, CHAINS[index]]).toReversed(),
      );
    });

    it('the head of a 402 is small, and its body has everything', async () => {
      const { status, bytes } = await headBytes(url(marketplace.baseUrl), { origin: 'https://a.example' });
      expect([status, bytes < MAX_ANSWER_HEADERS]).toEqual([402, true]);
      const answer = await fetch(url(proxy.url));
      const { data } = (await answer.json()) as {
        data: { payment: { x402: { accepts: { network: string }[]; extensions: Record<string, { schema: object }> } } };
      };
      expect(data.payment.x402.accepts.map(({ network }) => network)).toEqual(CHAINS);
      expect(JSON.stringify(data.payment.x402.extensions.bazaar!.schema)).toContain(JAPANESE);
      const { accepts, extensions } = requiredOf(answer);
      expect(accepts.map(({ network }) => network)).toEqual(CHAINS.slice(0, accepts.length));
      expect(extensions.bazaar.info).toMatchObject({ input: { method: 'POST' } });
    });

    it.each(CHAINS)('names %s first where the request asks for it', async (network) => {
      for (const id of [network, network.split(':')[1]!]) {
        const answer = await fetch(url(proxy.url), { headers: { 'x-market-origin-chain-id': id } });
        expect(requiredOf(answer).accepts[0]!.network).toBe(network);
      }
    });

    it('a page of a list with a long query has a small head, too', async () => {
      const q = encodeURIComponent('東'.repeat(200));
      const { status, bytes } = await headBytes(`${marketplace.baseUrl}/api/v1/listings?q=${q}`);
      expect([status, bytes < MAX_ANSWER_HEADERS]).toEqual([200, true]);
    });
  });
});
