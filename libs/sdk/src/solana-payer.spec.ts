import { address, generateKeyPairSigner, getBase64Encoder, getCompiledTransactionMessageDecoder, getTransactionDecoder, lamports, type Address, type KeyPairSigner, type Signature } from '@solana/kit';
import { findAssociatedTokenPda, getMintEncoder, getTokenDecoder, getTokenEncoder, AccountState, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { FailedTransactionMetadata, LiteSVM } from 'litesvm';
import { startRpcServer, type RpcServer } from '../test/rpc-server.js';
import { payOnce, RecentPayments } from './payer.js';
import { solanaPayer } from './solana-payer.js';
import type { PaymentOffer } from './types/payments.js';

const DEVNET = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
const GENESIS = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG';
const MINT = address('4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU');
const SOL = 1_000_000_000n;

/** What is signed is run by Solana's own virtual machine and token program; only the wire around them is this test's. */
describe('solanaPayer', () => {
  let svm: LiteSVM;
  let signer: KeyPairSigner;
  let deposit: Address;
  let rpc: RpcServer;
  let genesis = GENESIS;

  beforeEach(async () => {
    svm = new LiteSVM();
    genesis = GENESIS;
    [signer, deposit] = [await generateKeyPairSigner(), (await generateKeyPairSigner()).address];
    svm.airdrop(signer.address, lamports(SOL));
    const account = (at: Address, data: Uint8Array): void =>
      svm.setAccount({ address: at, data, executable: false, lamports: lamports(SOL), programAddress: TOKEN_PROGRAM_ADDRESS, space: BigInt(data.length), exists: true } as never);
    account(MINT, getMintEncoder().encode({ mintAuthority: signer.address, supply: 5_000_000n, decimals: 6, isInitialized: true, freezeAuthority: null }) as Uint8Array);
    const state = { mint: MINT, owner: signer.address, amount: 5_000_000n, delegate: null, state: AccountState.Initialized, isNative: null, delegatedAmount: 0n, closeAuthority: null };
    account(await tokenAccountOf(signer.address), getTokenEncoder().encode(state) as Uint8Array);
    rpc = await startRpcServer({
      getGenesisHash: () => genesis,
      getLatestBlockhash: () => ({ context: { slot: 1 }, value: { blockhash: svm.latestBlockhash(), lastValidBlockHeight: 150 } }),
      getAccountInfo: (at: Address) => {
        const found = svm.getAccount(at);
        const value = found.exists ? { data: ['', 'base64'], owner: found.programAddress, lamports: found.lamports, executable: false, rentEpoch: 0, space: 0 } : null;
        return { context: { slot: 1 }, value };
      },
      sendTransaction: (wire: string) => {
        const sent = svm.sendTransaction(getTransactionDecoder().decode(getBase64Encoder().encode(wire)));
        if (sent instanceof FailedTransactionMetadata) throw new Error(sent.toString());
        return null;
      },
      getSignatureStatuses: ([signature]: [Signature]) => {
        const known = svm.getTransaction(signature);
        return { context: { slot: 1 }, value: [known && { slot: 1, confirmations: null, err: known instanceof FailedTransactionMetadata ? 'failed' : null, confirmationStatus: 'finalized' }] };
      },
    });
  });
  afterEach(() => rpc.close());

  const tokenAccountOf = async (owner: Address): Promise<Address> => (await findAssociatedTokenPda({ owner, mint: MINT, tokenProgram: TOKEN_PROGRAM_ADDRESS }))[0];
  const tokensOf = async (owner: Address): Promise<bigint> => {
    const found = svm.getAccount(await tokenAccountOf(owner));
    return found.exists ? getTokenDecoder().decode(found.data).amount : 0n;
  };
  const payer = () => solanaPayer(signer, { [DEVNET]: { rpcUrl: rpc.url } });
  const asking = (currency: 'SOL' | 'USDC', amount: string, changes: Partial<PaymentOffer> = {}): PaymentOffer => ({
    relay_request_id: 'a',
    requirements: { depositAddress: deposit, amount, currency, network: DEVNET, relayRequestId: 'a', expiresAt: '2030-01-01T00:00:00Z' },
    ...changes,
  });

  it('sends SOL to the deposit address, exactly the amount, once', async () => {
    const store = new RecentPayments();
    const { transaction } = await payOnce(asking('SOL', '0.0025'), payer(), store);
    expect(svm.getBalance(deposit)).toBe(2_500_000n);
    await payOnce(asking('SOL', '0.0025'), payer(), store);
    expect(svm.getBalance(deposit)).toBe(2_500_000n);
    expect(svm.getTransaction(transaction as Signature)).not.toBeNull();
  });

  it('sends USDC to the deposit address’ own token account, which it makes', async () => {
    await payOnce(asking('USDC', '0.25'), payer(), new RecentPayments());
    expect([await tokensOf(deposit), await tokensOf(signer.address)]).toEqual([250_000n, 4_750_000n]);
  });

  it.each(['SOL', 'USDC'] as const)('names the reference of an offer behind the accounts of its transfer of %s', async (currency) => {
    const [receiver, reference] = [deposit, (await generateKeyPairSigner()).address];
    svm.airdrop(receiver, lamports(SOL));
    const offer = asking(currency, '0.0001');
    const { signed } = await payOnce({ ...offer, requirements: { ...offer.requirements, reference } }, payer(), new RecentPayments());
    expect(currency === 'SOL' ? svm.getBalance(receiver) : await tokensOf(receiver)).toBe(currency === 'SOL' ? SOL + 100_000n : 100n);
    const message = getCompiledTransactionMessageDecoder().decode(getTransactionDecoder().decode(getBase64Encoder().encode(signed!)).messageBytes);
    const { staticAccounts, instructions } = message as { staticAccounts: Address[]; instructions: { accountIndices: number[] }[] };
    expect(staticAccounts[instructions.at(-1)!.accountIndices.at(-1)!]).toBe(reference);
    expect(staticAccounts.filter((account) => account === reference)).toHaveLength(1);
  });

  it('moves nothing by preparing', async () => {
    const { signed } = await payer().prepare(asking('SOL', '0.0025'));
    expect(signed).toMatch(/^[A-Za-z0-9+/]+=*$/);
    expect(svm.getBalance(deposit)).toBeNull();
  });

  it('does not sign for another cluster than the offer’s', async () => {
    genesis = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
    await expect(payer().prepare(asking('SOL', '0.0025'))).rejects.toThrow('another cluster');
  });

  it('tells that it could not pay, and not the key in the URL of its server', async () => {
    const refused = await payOnce(asking('SOL', '2'), payer(), new RecentPayments()).catch((error: unknown) => error as Error);
    expect(refused).toBeInstanceOf(Error);
    await rpc.close();
    const unreachable = await payer().prepare(asking('SOL', '0.0025')).catch((error: unknown) => error as Error);
    expect(unreachable).toBeInstanceOf(Error);
    for (const error of [refused, unreachable]) expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('secret-key');
  });

  it('pays on the clusters and in the currencies it may, and in no sandbox', () => {
    const can = (offer: PaymentOffer, currencies?: ('SOL' | 'USDC')[]) => solanaPayer(signer, { [DEVNET]: { rpcUrl: rpc.url, currencies } }).canPay(offer);
    expect([can(asking('SOL', '1')), can(asking('USDC', '1'))]).toEqual([true, true]);
    expect([can(asking('SOL', '1'), ['USDC']), can(asking('USDC', '1'), ['USDC'])]).toEqual([false, true]);
    expect(can(asking('SOL', '1', { provider: 'sandbox' }))).toBe(false);
    const elsewhere = asking('SOL', '1');
    expect(can({ ...elsewhere, requirements: { ...elsewhere.requirements, network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' } })).toBe(false);
  });
});
