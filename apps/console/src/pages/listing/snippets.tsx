import type { ListingDetail } from '@market/sdk';
import { Code } from '../../parts/code.js';

/** The same call by each way to make it. */
export function Snippets({ listing, body }: { listing: ListingDetail; body: unknown }) {
  const snippets = {
    curl: curl(listing, body),
    'TypeScript with the SDK': typescript(listing, body),
    'x402, without an account': x402(listing, body),
    MCP: mcp(listing),
  };
  return Object.entries(snippets).map(([name, text]) => (
    <details key={name} name="the-call-as-code" open={name === 'curl'}>
      <summary>{name}</summary>
      <Code text={text} label={`${name} snippet`} />
    </details>
  ));
}

/** In single quotes, a shell interprets no character except the single quote. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const curl = ({ slug }: ListingDetail, body: unknown): string =>
  `# 1. The price: HTTP 402 with data.payment
curl -s ${window.location.origin}/api/v1/gateway/${slug} \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  -d ${quoted(JSON.stringify(body ?? {}))}

# 2. Pay what data.payment says, then send the same again with its id
#    -H "X-Market-Relay-Request-Id: $RELAY_REQUEST_ID"`;

const typescript = ({ slug, pricing_amount }: ListingDetail, body: unknown): string =>
  `import { evmWallet, Marketplace, x402Payer } from '@market/sdk';

const market = new Marketplace({
  baseUrl: ${JSON.stringify(window.location.origin)},
  apiKey: process.env.MARKET_KEY,
});
const { seller_response } = await market.call(${JSON.stringify(slug)}, ${JSON.stringify(body ?? {}, null, 2)}, {
  pay: x402Payer(evmWallet(process.env.WALLET_KEY), { 'eip155:8453': {} }),
  maxPriceUsd: ${JSON.stringify(String(pricing_amount))},
});`;

const x402 = ({ slug }: ListingDetail, body: unknown): string =>
  `import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';

const account = privateKeyToAccount(process.env.WALLET_KEY);
const pay = wrapFetchWithPayment(fetch, new x402Client().register('eip155:*', new ExactEvmScheme(account)));
const answer = await pay(${JSON.stringify(`${window.location.origin}/api/v1/x402/${slug}`)}, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(${JSON.stringify(body ?? {}, null, 2)}),
});
console.log(await answer.json());`;

const mcp = ({ slug }: ListingDetail): string =>
  JSON.stringify(
    {
      mcpServers: {
        [slug]: {
          type: 'http',
          url: `${window.location.origin}/mcp/${slug}`,
          headers: { Authorization: 'Bearer am_k_…' },
        },
      },
    },
    null,
    2,
  );
