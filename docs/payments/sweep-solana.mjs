// Moves the SOL and USDC of the deposit addresses on standard input, lines of `payments report`, to one address:
//   … | DEPOSIT_SEED=… FEE_PAYER=… MINT=EPjF… RPC_URL=https://… node docs/payments/sweep-solana.mjs YourTreasury
// DEPOSIT_SEED is PAYMENTS_LEDGER_SOLANA_SEED. FEE_PAYER, 64 hex digits, is a private key with some SOL; it pays the fees. MINT is USDC's.
import { createHmac } from 'node:crypto';
import { createInterface } from 'node:readline';
import * as kit from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { findAssociatedTokenPda, getCloseAccountInstruction, getCreateAssociatedTokenIdempotentInstruction, getTransferCheckedInstruction } from '@solana-program/token';

const rpc = kit.createSolanaRpc(process.env.RPC_URL);
const treasury = kit.address(process.argv[2]);
const payer = await kit.createKeyPairSignerFromPrivateKeyBytes(Buffer.from(process.env.FEE_PAYER, 'hex'));
const network = `solana:${(await rpc.getGenesisHash().send()).slice(0, 32)}`;

// SLIP-0010: all of ed25519's children are hardened.
const split = (bytes) => ({ key: bytes.subarray(0, 32), chainCode: bytes.subarray(32) });
const ownerAt = (path) => {
  const root = split(createHmac('sha512', 'ed25519 seed').update(Buffer.from(process.env.DEPOSIT_SEED, 'hex')).digest());
  const { key } = path.split('/').slice(1).reduce(({ key, chainCode }, index) => {
    const number = Buffer.alloc(4);
    number.writeUInt32BE(Number.parseInt(index, 10) + 0x80000000);
    return split(createHmac('sha512', chainCode).update(Buffer.concat([Buffer.of(0), key, number])).digest());
  }, root);
  return kit.createKeyPairSignerFromPrivateKeyBytes(key);
};

// All of it, and what lay on the token account so that it could be.
const tokens = async (owner) => {
  const mint = kit.address(process.env.MINT);
  const { value } = await rpc.getAccountInfo(mint, { encoding: 'base64' }).send();
  const config = { programAddress: value.owner };
  const accountOf = async (holder) => (await findAssociatedTokenPda({ owner: holder, mint, tokenProgram: value.owner }))[0];
  const [source, destination] = await Promise.all([accountOf(owner.address), accountOf(treasury)]);
  const { value: held } = await rpc.getTokenAccountBalance(source).send();
  return [
    getCreateAssociatedTokenIdempotentInstruction({ payer, ata: destination, owner: treasury, mint, tokenProgram: value.owner }),
    getTransferCheckedInstruction({ source, mint, destination, authority: owner, amount: BigInt(held.amount), decimals: held.decimals }, config),
    getCloseAccountInstruction({ account: source, destination: treasury, owner }, config),
  ];
};
const coin = async (owner) => [getTransferSolInstruction({ source: owner, destination: treasury, amount: (await rpc.getBalance(owner.address).send()).value })];

for await (const line of createInterface(process.stdin)) {
  const [kind, , where, address, path, amount, currency] = line.split('\t');
  if (kind !== 'deposit' || where !== network) continue;
  const owner = await ownerAt(path);
  if (owner.address !== address) throw new Error(`${address} is not below this seed`);
  const instructions = await (currency === 'SOL' ? coin(owner) : tokens(owner));
  const { value: lifetime } = await rpc.getLatestBlockhash().send();
  const message = kit.pipe(
    kit.createTransactionMessage({ version: 0 }),
    (empty) => kit.setTransactionMessageFeePayerSigner(payer, empty),
    (paid) => kit.setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
    (dated) => kit.appendTransactionMessageInstructions(instructions, dated),
  );
  const wire = kit.getBase64EncodedWireTransaction(await kit.signTransactionMessageWithSigners(message));
  console.log(amount, currency, address, await rpc.sendTransaction(wire, { encoding: 'base64' }).send());
}
