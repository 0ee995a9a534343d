import type { ListingDetail } from '@market/sdk';
import { Code } from '../../parts/code.js';

/** The same call as a shell command and as a program. */
export function Snippets({ listing, body }: { listing: ListingDetail; body: unknown }) {
  const snippets = {
    curl: curl(listing, body),
    TypeScript: typescript(listing, body),
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
