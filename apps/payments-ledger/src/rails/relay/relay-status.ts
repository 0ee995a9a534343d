import { z } from 'zod';
import type { Observation } from '../../payments/payment-state.js';

/**
 * The states of a request at Relay. Source: docs.relay.link, "Get Status", "Webhooks". Relay's SDK has all of them
 * except `delayed`.
 */
export const RELAY_STATUSES = [
  'waiting',
  'depositing',
  'pending',
  'submitted',
  'delayed',
  'success',
  'refund',
  'failure',
] as const;

const hash = z.string().regex(/^[0-9A-Za-z]{1,128}$/);
/** A reason for people to read. A malformed one is dropped. Relay writes N/A if there is none. */
const reason = z
  .string()
  .regex(/^(?!N\/A$)[\w .:/-]{1,100}$/)
  .nullish()
  .catch(null);
const statusAnswer = z.object({
  status: z.enum(RELAY_STATUSES),
  inTxHashes: z.array(hash).nullish(),
  txHashes: z.array(hash).nullish(),
  originChainId: z.number().nullish(),
  failReason: reason,
  refundFailReason: reason,
});
export type RelayStatus = z.output<typeof statusAnswer>;

/** @throws Error if the answer is malformed or names another chain, because it then says nothing about the payment. */
export function readStatus(answer: unknown, originChainId: number): RelayStatus {
  const parsed = statusAnswer.safeParse(answer);
  if (!parsed.success)
    throw new Error(
      `Relay's status is not as documented at ${parsed.error.issues.map(({ path }) => path.join('.') || 'its root').join(', ')}`,
    );
  if ((parsed.data.originChainId ?? originChainId) !== originChainId)
    throw new Error("Relay's status is of a payment on another chain");
  if (parsed.data.status === 'success' && transactionOf(parsed.data) === null)
    throw new Error('Relay names no transaction of a success');
  return parsed.data;
}

/**
 * Relay accepts the exact amount only. It sends back any other amount and any surplus. An offer is therefore paid in
 * full or not at all, and the marketplace does not owe what Relay keeps or sends back.
 * @param isOver whether money that still arrives can no longer pay the offer.
 */
export function observationOf(status: RelayStatus, amountBaseUnits: bigint, isOver: boolean): Observation {
  const nothing = { receivedBaseUnits: 0n, arriving: false, transactionHash: null };
  switch (status.status) {
    case 'waiting':
      return { ...nothing, isClosed: isOver };
    case 'success':
      return {
        receivedBaseUnits: amountBaseUnits,
        arriving: false,
        transactionHash: transactionOf(status),
        isClosed: true,
      };
    case 'refund':
      return { ...nothing, failed: true, isClosed: true };
    // A failure is not final at Relay, which usually makes a refund next. Relay is asked again when the offer expires.
    case 'failure':
      return { ...nothing, failed: true, isClosed: isOver };
    default:
      return { ...nothing, arriving: true };
  }
}

/** What Relay did with money that it received and did not deliver; null if it received none. */
export function dispositionOf({
  status,
  inTxHashes,
  failReason,
  refundFailReason,
}: RelayStatus): { explained: boolean; why: string } | null {
  const because = failReason ? ` (${failReason})` : '';
  switch (status) {
    case 'waiting':
      return null;
    case 'success':
      return { explained: true, why: 'Relay paid the seller; what the buyer is owed back stands in its ledger' };
    case 'refund':
      return { explained: true, why: `Relay sent the money back to the buyer's wallet${because}` };
    case 'failure':
      return inTxHashes?.length
        ? {
            explained: false,
            why:
              `Relay took ${inTxHashes[0]} and neither delivered it nor sent it back` +
              (refundFailReason ? ` (${refundFailReason})` : because),
          }
        : { explained: true, why: `Relay gave up before money came${because}` };
    default:
      return { explained: true, why: 'Relay has the money and is delivering it' };
  }
}

/** The transaction that paid the seller, or otherwise the one that paid Relay. */
const transactionOf = ({ txHashes, inTxHashes }: RelayStatus): string | null =>
  txHashes?.[0] ?? inTxHashes?.[0] ?? null;
