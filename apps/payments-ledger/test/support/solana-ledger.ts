import { startSolanaNode, type SolanaNode } from '@market/testing';
import {
  createKeyPairSignerFromBytes,
  getBase64Decoder,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  getTransactionDecoder,
  getTransactionEncoder,
  signBytes,
  type KeyPairSigner,
} from '@solana/kit';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { generateKeyPairSync } from 'node:crypto';
import { LocalSolanaFacilitator } from '../../src/rails/x402/local-solana-facilitator.js';
import { askedIn } from './signed-payload.js';
import { startLedger, type LedgerHarness, type Offered } from './ledger-harness.js';
import { serveFacilitator, type RemoteFacilitator } from './remote-facilitator.js';

/** Returns 64 bytes, the private key first, as wallets export a key pair. */
function newKeyPair(): Uint8Array {
  const { d, x } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  return Buffer.concat([Buffer.from(d!, 'base64url'), Buffer.from(x!, 'base64url')]);
}

export const newSigner = (): Promise<KeyPairSigner> => createKeyPairSignerFromBytes(newKeyPair());

/** Returns the payload that the stock client sends for an offer, as JSON text. */
export async function signedOnSolana(
  offered: Pick<Offered, 'offer'>,
  signer: KeyPairSigner,
  rpcUrl: string,
  changes: Record<string, unknown> = {},
): Promise<string> {
  const { payload } = await new ExactSvmScheme(signer, { rpcUrl }).createPaymentPayload(2, {
    ...askedIn(offered),
    ...changes,
  } as never);
  return JSON.stringify({
    x402Version: 2,
    accepted: askedIn(offered),
    payload,
    resource: { url: 'https://market.example/' },
  });
}

/** Returns such a payload with another limit and another price (in micro-lamports) of compute units, signed anew. */
export async function withComputeBudget(
  authorization: string,
  { keyPair, address }: KeyPairSigner,
  units: number,
  price: bigint,
): Promise<string> {
  const signed = JSON.parse(authorization) as { payload: { transaction: string } };
  const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(signed.payload.transaction));
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
  if (message.version === 1) throw new Error('the stock client writes version 0');
  const changed = {
    ...message,
    instructions: message.instructions.map((instruction) => {
      const data = Buffer.from(instruction.data ?? []);
      if (data[0] === 2 && data.length === 5) data.writeUInt32LE(units, 1);
      if (data[0] === 3 && data.length === 9) data.writeBigUInt64LE(price, 1);
      return { ...instruction, data };
    }),
  };
  const messageBytes = getCompiledTransactionMessageEncoder().encode(changed as typeof message);
  const signatures = {
    ...transaction.signatures,
    [address]: await signBytes(keyPair.privateKey, messageBytes as never),
  };
  const wire = getTransactionEncoder().encode({ messageBytes, signatures } as never);
  return JSON.stringify({ ...signed, payload: { transaction: getBase64Decoder().decode(wire) } });
}

/** The ledger with its rail on Solana, a facilitator with configurable faults, and a payer with USDC. */
export interface SolanaLedger {
  node: SolanaNode;
  facilitator: RemoteFacilitator & { feePayer: string };
  ledger: LedgerHarness;
  payer: KeyPairSigner;
  env: Record<string, string>;
  /** Creates a wallet for a seller, with an empty token account. */
  openWallet(sellerId: string): Promise<KeyPairSigner>;
  stop(): Promise<void>;
}

/** Serves a facilitator with a fee payer of its own. */
export async function serveSolanaFacilitator(node: SolanaNode): Promise<RemoteFacilitator & { feePayer: string }> {
  const keyPair = newKeyPair();
  const local = new LocalSolanaFacilitator([{ network: node.network, rpcUrls: [node.url] }], keyPair);
  node.setLamports(local.id, 10n ** 10n);
  return Object.assign(await serveFacilitator(local, [node.network]), { feePayer: local.id });
}

/** @param changes of its variables, which may depend on what runs. */
export async function startSolanaLedger(
  changes:
    | Record<string, string>
    | ((node: SolanaNode, facilitator: RemoteFacilitator) => Promise<Record<string, string>>) = {},
): Promise<SolanaLedger> {
  const node = await startSolanaNode();
  const payer = await newSigner();
  await node.fund(payer.address, 10n ** 12n);
  const facilitator = await serveSolanaFacilitator(node);
  const env = {
    PAYMENTS_LEDGER_X402_CHAINS: `${node.network}=${node.url}`,
    PAYMENTS_LEDGER_FEE_SOLANA_ADDRESS: (await newSigner()).address,
    PAYMENTS_LEDGER_X402_FACILITATOR_URL: facilitator.url,
    PAYMENTS_LEDGER_X402_FACILITATOR_API_KEY: 'secret',
    ...(typeof changes === 'function' ? await changes(node, facilitator) : changes),
  };
  const ledger = await startLedger({ env });
  return {
    node,
    facilitator,
    ledger,
    payer,
    env,
    async openWallet(sellerId) {
      const wallet = await newSigner();
      await node.openTokenAccount(wallet.address);
      ledger.wallets!.setOnSolana(sellerId, wallet.address);
      return wallet;
    },
    stop: () =>
      ledger.stop().finally(() => {
        facilitator.stop();
        return node.stop();
      }),
  };
}
