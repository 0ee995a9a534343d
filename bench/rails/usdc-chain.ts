import { startEvmWorld } from '../../apps/payments-ledger/test/support/evm-world.js';
import { CHAIN_ID, USDC } from '../src/x402/chain.js';

/** Base Sepolia as far as USDC is there, in a process of its own: looks at it find a token and no money. */
const chain = await startEvmWorld(CHAIN_ID);
await chain.place('SignedToken', USDC);
await chain.node.mine(2);
process.stdin.resume().once('end', () => void chain.stop().then(() => process.exit(0)));
console.log(chain.node.url);
