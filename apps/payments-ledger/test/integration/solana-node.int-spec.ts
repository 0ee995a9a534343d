import { startSolanaNode, type SolanaNode } from '@market/testing';
import {
  createSolanaRpc,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getTransactionDecoder,
  signature,
  type Base64EncodedWireTransaction,
  type KeyPairSigner,
  type Signature,
} from '@solana/kit';
import { x402Client } from '@x402/core/client';
import { x402Facilitator } from '@x402/core/facilitator';
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import { toFacilitatorSvmSigner } from '@x402/svm';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { registerExactSvmScheme } from '@x402/svm/exact/facilitator';
import { randomBytes } from 'node:crypto';

describe('the Solana node of tests, with stock x402 packages', () => {
  let node: SolanaNode;
  let rpc: ReturnType<typeof createSolanaRpc>;
  let payer: KeyPairSigner;
  let seller: KeyPairSigner;
  let feePayer: KeyPairSigner;
  let facilitator: x402Facilitator;

  beforeAll(async () => {
    node = await startSolanaNode();
    rpc = createSolanaRpc(node.url);
    [payer, seller, feePayer] = await Promise.all([
      generateKeyPairSigner(),
      generateKeyPairSigner(),
      generateKeyPairSigner(),
    ]);
    await node.fund(payer.address, 900_000n);
    await node.openTokenAccount(seller.address);
    node.setLamports(feePayer.address, 1_000_000_000n);
    facilitator = registerExactSvmScheme(new x402Facilitator(), {
      signer: toFacilitatorSvmSigner(feePayer, { defaultRpcUrl: node.url }),
      networks: node.network,
    });
  });
  afterEach(() => {
    node.onRequest = undefined;
  });
  afterAll(() => node.stop());

  const asking = (amount: bigint, payTo: string = seller.address): PaymentRequirements => ({
    scheme: 'exact',
    network: node.network,
    amount: String(amount),
    asset: node.usdc,
    payTo,
    maxTimeoutSeconds: 60,
    extra: { feePayer: feePayer.address, memo: randomBytes(16).toString('hex') },
  });
  const pay = (requirements: PaymentRequirements): Promise<PaymentPayload> =>
    new x402Client().register('solana:*', new ExactSvmScheme(payer, { rpcUrl: node.url })).createPaymentPayload({
      x402Version: 2,
      resource: { url: 'http://localhost/' },
      accepts: [requirements],
    } as never);
  /** Adds the signature of the fee payer. */
  const signed = async ({ payload }: PaymentPayload): Promise<Base64EncodedWireTransaction> => {
    const transaction = getTransactionDecoder().decode(Buffer.from(payload.transaction as string, 'base64'));
    const [signatures] = await feePayer.signMessages([
      { content: transaction.messageBytes, signatures: transaction.signatures } as never,
    ]);
    return getBase64EncodedWireTransaction({
      ...transaction,
      signatures: { ...transaction.signatures, ...signatures },
    });
  };
  const balances = async () => [await node.balanceOf(payer.address), await node.balanceOf(seller.address)] as const;
  const send = (transaction: Base64EncodedWireTransaction, skipPreflight = false): Promise<Signature> =>
    rpc.sendTransaction(transaction, { encoding: 'base64', skipPreflight }).send();
  const statusOf = async (of: Signature) => (await rpc.getSignatureStatuses([of]).send()).value[0];

  it('settles a payment once', async () => {
    const requirements = asking(250_000n);
    const payload = await pay(requirements);
    const [had, held] = await balances();
    expect(await facilitator.verify(payload, requirements)).toEqual({ isValid: true, payer: payer.address });
    expect(await balances()).toEqual([had, held]);
    expect(await facilitator.settle(payload, requirements)).toMatchObject({ success: true, payer: payer.address });
    expect(await balances()).toEqual([had - 250_000n, held + 250_000n]);

    expect(await facilitator.settle(payload, requirements)).toMatchObject({
      success: false,
      errorReason: 'duplicate_settlement',
    });
    expect(await facilitator.verify(payload, requirements)).toMatchObject({
      invalidReason: 'invalid_exact_svm_transaction_simulation_failed',
      invalidMessage: 'Simulation failed: "AlreadyProcessed"',
    });
    await expect(send(await signed(payload))).rejects.toMatchObject({
      cause: { message: expect.stringContaining('already been processed') as string },
    });
    await send(await signed(payload), true);
    expect(await balances()).toEqual([had - 250_000n, held + 250_000n]);
  });

  it('tells of a payment what a real node tells, first confirmed and 32 blocks later final', async () => {
    const requirements = asking(1_000n);
    const paid = await facilitator.settle(await pay(requirements), requirements);
    const of = signature(paid.transaction);
    expect(await statusOf(of)).toMatchObject({ confirmationStatus: 'confirmed', confirmations: 0n, err: null });
    const options = { commitment: 'finalized', encoding: 'json', maxSupportedTransactionVersion: 0 } as const;
    expect(await rpc.getTransaction(of, options).send()).toBeNull();
    expect(await rpc.getSignaturesForAddress(payer.address, { commitment: 'finalized' }).send()).not.toContainEqual(
      expect.objectContaining({ signature: of }),
    );
    await expect(rpc.getTransaction(of, { encoding: 'json' } as never).send()).rejects.toThrow('version');

    node.mine(32);
    expect(await statusOf(of)).toMatchObject({ confirmationStatus: 'finalized', confirmations: null });
    const found = await rpc.getTransaction(of, options).send();
    const { preTokenBalances = [], postTokenBalances = [] } = found!.meta!;
    const change = (owner: string) => {
      const [before, after] = [preTokenBalances, postTokenBalances].map((list) =>
        BigInt(list.find((each) => each.owner === owner)!.uiTokenAmount.amount),
      );
      return after! - before!;
    };
    expect([change(payer.address), change(seller.address)]).toEqual([-1_000n, 1_000n]);
    expect(found).toMatchObject({
      blockTime: await rpc.getBlockTime(found!.slot).send(),
      version: 0,
      transaction: { signatures: expect.arrayContaining([of]) as string[] },
      meta: { err: null, fee: 10_001n },
    });
    const memo = requirements.extra.memo as string;
    const [latest] = await rpc.getSignaturesForAddress(payer.address, { commitment: 'finalized', limit: 1 }).send();
    expect(latest).toMatchObject({ signature: of, memo: `[${memo.length}] ${memo}`, err: null });
    expect(await rpc.getSignaturesForAddress(payer.address, { before: of, limit: 1 }).send()).not.toContainEqual(
      expect.objectContaining({ signature: of }),
    );
    expect(await rpc.getSignaturesForAddress(payer.address, { until: of }).send()).toEqual([]);

    node.mine(300);
    expect(await statusOf(of)).toBeNull();
    const searched = await rpc.getSignatureStatuses([of], { searchTransactionHistory: true }).send();
    expect(searched.value).toMatchObject([{ confirmationStatus: 'finalized' }]);
  });

  it('refuses a transaction whose blockhash is too old', async () => {
    const requirements = asking(1_000n);
    const payload = await pay(requirements);
    const { blockhash, lastValidBlockHeight } = (await rpc.getLatestBlockhash().send()).value;
    const isValid = async (commitment: 'confirmed' | 'finalized') =>
      (await rpc.isBlockhashValid(blockhash, { commitment }).send()).value;
    expect([await isValid('confirmed'), await isValid('finalized')]).toEqual([true, false]);
    const before = await balances();

    node.mine(151);
    expect(await rpc.getBlockHeight().send()).toBe(lastValidBlockHeight + 1n);
    expect([await isValid('confirmed'), await isValid('finalized')]).toEqual([false, true]);
    await expect(send(await signed(payload))).rejects.toMatchObject({
      context: { __code: -32002 },
      cause: { message: expect.stringContaining('lockhash') as string },
    });
    expect(await facilitator.verify(payload, requirements)).toMatchObject({
      invalidReason: 'invalid_exact_svm_transaction_simulation_failed',
      invalidMessage: 'Simulation failed: "BlockhashNotFound"',
    });
    expect(await statusOf(await send(await signed(payload), true))).toBeNull();
    expect(await balances()).toEqual(before);
  });

  it.each<[string, string, () => Promise<PaymentRequirements>]>([
    [
      'a seller without a token account',
      'Simulation failed: {"InstructionError":["2","InvalidAccountData"]}',
      async () => asking(1_000n, (await generateKeyPairSigner()).address),
    ],
    [
      'a payer without enough',
      'Simulation failed: {"InstructionError":["2",{"Custom":"1"}]}',
      async () => asking((await node.balanceOf(payer.address)) + 1n),
    ],
  ])('refuses %s by simulation, and records the failure of who sends it nevertheless', async (_, message, asked) => {
    const requirements = await asked();
    const payload = await pay(requirements);
    expect(await facilitator.verify(payload, requirements)).toMatchObject({
      invalidReason: 'invalid_exact_svm_transaction_simulation_failed',
      invalidMessage: message,
    });
    const before = await balances();
    await expect(send(await signed(payload))).rejects.toMatchObject({ context: { __code: -32002 } });

    const of = await send(await signed(payload), true);
    const failed = { err: { InstructionError: [2n, expect.anything()] } };
    expect(await statusOf(of)).toMatchObject(failed);
    const [latest] = await rpc.getSignaturesForAddress(feePayer.address, { limit: 1 }).send();
    expect(latest).toMatchObject({ signature: of, ...failed });
    const options = { encoding: 'base64', maxSupportedTransactionVersion: 0 } as const;
    expect(await rpc.getTransaction(of, options).send()).toMatchObject({ meta: failed });
    expect(await balances()).toEqual(before);
  });

  it('refuses a transaction that is not signed by all', async () => {
    const { payload } = await pay(asking(1_000n));
    await expect(send(payload.transaction as Base64EncodedWireTransaction)).rejects.toMatchObject({
      context: { __code: -32003 },
    });
  });

  it('refuses, hangs, or takes a transaction and loses the answer, as a test tells it', async () => {
    const requirements = asking(1_000n);
    const transaction = await signed(await pay(requirements));
    const [had, held] = await balances();
    node.onRequest = () => 'refuse';
    await expect(send(transaction)).rejects.toMatchObject({ context: { statusCode: 503 } });
    node.onRequest = () => 'hang';
    const hanging = rpc.getSlot().send({ abortSignal: AbortSignal.timeout(100) });
    await expect(hanging).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(await balances()).toEqual([had, held]);
    node.onRequest = (method) => (method === 'sendTransaction' ? 'swallow' : undefined);
    await expect(send(transaction)).rejects.toThrow('fetch failed');
    expect(await balances()).toEqual([had - 1_000n, held + 1_000n]);
  });

  it('answers batches, and says what it does not know', async () => {
    const response = await fetch(node.url, {
      method: 'POST',
      body: JSON.stringify(['getHealth', 'getVoteAccounts'].map((method, id) => ({ jsonrpc: '2.0', id, method }))),
    });
    expect(await response.json()).toEqual([
      { jsonrpc: '2.0', id: 0, result: 'ok' },
      { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'Method not found' } },
    ]);
  });
});
