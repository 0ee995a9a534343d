import {
  appendTransactionMessageInstruction,
  createSolanaRpc,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  type Address,
  type Base64EncodedWireTransaction,
  type KeyPairSigner,
  type Rpc,
  type SolanaRpcApi,
} from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { startSolanaNode, type SolanaNode } from '../src/servers/solana-node.js';

const SOL = 1_000_000_000n;

describe('a Solana chain of a test', () => {
  let node: SolanaNode;
  let rpc: Rpc<SolanaRpcApi>;
  beforeAll(async () => {
    node = await startSolanaNode();
    rpc = createSolanaRpc(node.url);
  });
  afterAll(() => node.stop());

  const transfer = async (source: KeyPairSigner, destination: Address, amount: bigint): Promise<Base64EncodedWireTransaction> => {
    const { value: lifetime } = await rpc.getLatestBlockhash().send();
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (empty) => setTransactionMessageFeePayerSigner(source, empty),
      (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
      (dated) => appendTransactionMessageInstruction(getTransferSolInstruction({ source, destination, amount }), dated),
    );
    return getBase64EncodedWireTransaction(await signTransactionMessageWithSigners(message));
  };
  const send = (wire: Base64EncodedWireTransaction, skipPreflight = false) => rpc.sendTransaction(wire, { encoding: 'base64', skipPreflight }).send();
  const balances = (address: Address) => Promise.all((['processed', 'confirmed', 'finalized'] as const).map(async (commitment) => (await rpc.getBalance(address, { commitment }).send()).value));

  it('is one of its own, and says so', async () => {
    const other = await startSolanaNode();
    const genesis = await rpc.getGenesisHash().send();
    expect(node.network).toBe(`solana:${genesis.slice(0, 32)}`);
    expect(await createSolanaRpc(other.url).getGenesisHash().send()).not.toBe(genesis);
    other.stop();
  });

  it('has what was sent processed at once, and as final as the test says', async () => {
    const { address } = await generateKeyPairSigner();
    const signature = await rpc.requestAirdrop(address, lamports(SOL)).send();
    const statusOf = async () => (await rpc.getSignatureStatuses([signature]).send()).value[0]?.confirmationStatus;
    expect([await balances(address), await statusOf()]).toEqual([[SOL, 0n, 0n], 'processed']);
    node.confirm();
    expect([await balances(address), await statusOf()]).toEqual([[SOL, SOL, 0n], 'confirmed']);
    node.finalize();
    expect([await balances(address), await statusOf()]).toEqual([[SOL, SOL, SOL], 'finalized']);
    const [listed] = await rpc.getSignaturesForAddress(address, { commitment: 'finalized' }).send();
    expect(listed).toMatchObject({ signature, err: null, confirmationStatus: 'finalized' });
    const found = await rpc.getTransaction(signature, { encoding: 'base64', maxSupportedTransactionVersion: 0 }).send();
    expect(found).toMatchObject({ slot: listed!.slot, meta: { err: null }, transaction: [expect.any(String), 'base64'] });
  });

  it('has never had what another fork took back, takes it again, and no second time', async () => {
    const { address } = await generateKeyPairSigner();
    const wire = await transfer(node.payer, address, SOL);
    const signature = await send(wire);
    node.dropFork();
    expect(await balances(address)).toEqual([0n, 0n, 0n]);
    expect((await rpc.getSignatureStatuses([signature]).send()).value).toEqual([null]);
    expect(await send(wire)).toBe(signature);
    node.finalize();
    expect(await balances(address)).toEqual([SOL, SOL, SOL]);
    await expect(send(wire, true)).rejects.toThrow('AlreadyProcessed');
  });

  it('refuses what fails and what nobody signed, and takes what fails where it is told to', async () => {
    const [poor, somebody] = [await generateKeyPairSigner(), await generateKeyPairSigner()];
    await rpc.requestAirdrop(poor.address, lamports(SOL)).send();
    const wire = await transfer(poor, somebody.address, 2n * SOL);
    expect((await rpc.simulateTransaction(wire, { encoding: 'base64' }).send()).value.err).not.toBeNull();
    await expect(send(wire)).rejects.toThrow('simulation failed');
    const signature = await send(wire, true);
    const confirmed = () => rpc.getTransaction(signature, { encoding: 'json', commitment: 'confirmed', maxSupportedTransactionVersion: 0 }).send();
    expect(await confirmed()).toBeNull();
    node.confirm();
    expect((await confirmed())!.meta!.err).not.toBeNull();
    expect(await balances(poor.address)).toEqual([SOL - 5_000n, SOL - 5_000n, 0n]);
    const forged = Buffer.from(await transfer(poor, somebody.address, SOL / 2n), 'base64');
    forged[1]! ^= 1;
    await expect(send(forged.toString('base64') as Base64EncodedWireTransaction, true)).rejects.toThrow('SignatureFailure');
    await expect(rpc.getEpochInfo().send()).rejects.toThrow('Method not found');
  });
});
