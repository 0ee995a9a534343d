// Moves the ETH of the deposit addresses on standard input, lines of `payments report`, to one address:
//   … | DEPOSIT_SEED=… RPC_URL=https://… node docs/payments/sweep-eth.mjs 0xYourTreasury
import { createInterface } from 'node:readline';
import { createWalletClient, http, publicActions } from 'viem';
import { HDKey, privateKeyToAccount } from 'viem/accounts';

const root = HDKey.fromMasterSeed(Buffer.from(process.env.DEPOSIT_SEED, 'hex'));
const GAS = 21_000n;

for await (const line of createInterface(process.stdin)) {
  const [kind, , network, address, path, amount, currency] = line.split('\t');
  if (kind !== 'deposit' || currency !== 'ETH') continue;
  const account = privateKeyToAccount(`0x${Buffer.from(root.derive(path).privateKey).toString('hex')}`);
  if (account.address !== address) throw new Error(`${address} is not below this seed`);
  const client = createWalletClient({ account, transport: http(process.env.RPC_URL) }).extend(publicActions);
  if (network !== `eip155:${await client.getChainId()}`) continue;
  const gasPrice = (await client.getGasPrice()) * 2n;
  const value = (await client.getBalance({ address })) - GAS * gasPrice;
  if (value <= 0n) console.log(`${address} holds less than moving it costs`);
  else console.log(amount, address, await client.sendTransaction({ chain: null, to: process.argv[2], value, gas: GAS, gasPrice, type: 'legacy' }));
}
