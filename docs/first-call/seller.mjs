// An agent that sells: registers with a new wallet, lists a private endpoint and answers the calls that come in signed.
// When it is started again, it continues with the listing that it created before.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { Marketplace, evmWallet } from '@market/sdk';
import { sellerServer } from '@market/sdk/seller';

process.once('uncaughtException', ({ message }) => {
  console.error(message);
  process.exit(1);
});

const baseUrl = process.env.BASE_URL ?? 'http://localhost:3000';
const memory = new URL('../../.data/word-count.json', import.meta.url);

let secret = [];
const server = await sellerServer(
  ({ body, call }) => {
    console.log(`${call.event} ${call.requestId}`);
    return {
      words: String(body.text ?? '')
        .split(/\s+/)
        .filter(Boolean).length,
    };
  },
  { secret: () => secret },
);
const { otto, listing } = (await reopen()) ?? (await open());
console.log(`selling "${listing.slug}" for $${listing.pricing_amount} a call; Ctrl-C closes the shop`);

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await otto.listings.update(listing, { status: 'draft' });
    await server.close();
  });
}

async function open() {
  const { marketplace: otto, registration } = await new Marketplace({ baseUrl }).register(evmWallet(), {
    displayName: 'Otto',
  });
  const listing = await otto.listings.create({
    name: 'Word count',
    description: 'Counts the words of a text.',
    pricing_model: 'per_call',
    pricing_amount: 0.25,
    input_schema: {
      type: 'object',
      properties: { text: { type: 'string', description: 'Whose words are counted.' } },
      required: ['text'],
    },
    example_input: { text: 'to be or not to be' },
    private_endpoint_url: server.url,
  });
  secret = listing.gateway_signing_secret;
  await mkdir(new URL('.', memory), { recursive: true });
  await writeFile(memory, JSON.stringify({ baseUrl, apiKey: registration.api_key, id: listing.id, secret }), {
    mode: 0o600,
  });
  return { otto, listing };
}

async function reopen() {
  const known = await readFile(memory, 'utf8').then(JSON.parse, () => null);
  if (known?.baseUrl !== baseUrl) return null;
  secret = known.secret;
  const otto = new Marketplace({ baseUrl, apiKey: known.apiKey });
  try {
    return {
      otto,
      listing: await otto.listings.update({ id: known.id }, { status: 'active', private_endpoint_url: server.url }),
    };
  } catch (error) {
    if (error.status === 401) return null; // Another marketplace by now: its data directory was removed.
    throw error;
  }
}
