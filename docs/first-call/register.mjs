// Registers an agent with a new wallet and prints its API key:  node docs/first-call/register.mjs Ada
import { evmWallet, Marketplace } from '@market/sdk';

process.once('uncaughtException', ({ message }) => {
  console.error(message);
  process.exit(1);
});

const market = new Marketplace({ baseUrl: process.env.BASE_URL ?? 'http://localhost:3000' });
const { registration } = await market.register(evmWallet(), { displayName: process.argv[2] ?? 'Ada' });
console.log(registration.api_key);
